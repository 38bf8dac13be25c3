// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* OpenRNIC core driver: devlink instance, policy parameters, versions, reload. */

#include <linux/pci.h>
#include <linux/ornic_compat.h>

#include "core.h"

#define ORNIC_MPA_TIMEOUT_MS	60000
#define ORNIC_CLOSE_TIMEOUT_MS	60000
#define ORNIC_WINDOW		SZ_1M
#define ORNIC_WINDOW_MIN	4096
#define ORNIC_KEEPALIVE_S	7200
#define ORNIC_TIMEOUT_MIN_MS	100
#define ORNIC_TIMEOUT_MAX_MS	(3600 * 1000)

enum ornic_param_id {
	ORNIC_PARAM_MPA_REV = DEVLINK_PARAM_GENERIC_ID_MAX + 1,
	ORNIC_PARAM_MPA_CRC,
	ORNIC_PARAM_MPA_MARKERS,
	ORNIC_PARAM_PEER_TO_PEER,
	ORNIC_PARAM_RTR_TYPES,
	ORNIC_PARAM_MPA_TIMEOUT,
	ORNIC_PARAM_CLOSE_TIMEOUT,
	ORNIC_PARAM_WINDOW,
	ORNIC_PARAM_TCP_WSCALE,
	ORNIC_PARAM_TCP_TIMESTAMPS,
	ORNIC_PARAM_TCP_SACK,
	ORNIC_PARAM_TCP_KEEPALIVE,
	ORNIC_PARAM_TCP_NAGLE,
	ORNIC_PARAM_KEEPALIVE_TIME,
};

/**
 * ornic_policy_init() - what holds until the administrator says something else
 * @od: the function
 *
 * Context: Process context, before anybody asks.
 */
void ornic_policy_init(struct ornic_dev *od)
{
	od->policy = (struct ornic_policy) {
		.mpa_rev = 2,
		.mpa_crc = true,
		/* or a program whose passive side sends first waits for ever (RFC 6581 5) */
		.peer_to_peer = true,
		.rtr_types = BIT(ORNIC_RTR_SEND) | BIT(ORNIC_RTR_WRITE) | BIT(ORNIC_RTR_READ),
		.mpa_timeout_ms = ORNIC_MPA_TIMEOUT_MS,
		.close_timeout_ms = ORNIC_CLOSE_TIMEOUT_MS,
		.window = ORNIC_WINDOW,
		.tcp_options = ORNIC_TCPO_WSCALE | ORNIC_TCPO_TIMESTAMPS | ORNIC_TCPO_SACK |
			       ORNIC_TCPO_KEEPALIVE,
		.keepalive_s = ORNIC_KEEPALIVE_S,
	};
}

static u16 ornic_param_tcp_option(u32 id)
{
	switch (id) {
	case ORNIC_PARAM_TCP_WSCALE:
		return ORNIC_TCPO_WSCALE;
	case ORNIC_PARAM_TCP_TIMESTAMPS:
		return ORNIC_TCPO_TIMESTAMPS;
	case ORNIC_PARAM_TCP_SACK:
		return ORNIC_TCPO_SACK;
	case ORNIC_PARAM_TCP_KEEPALIVE:
		return ORNIC_TCPO_KEEPALIVE;
	default:
		return ORNIC_TCPO_NAGLE;
	}
}

static int ornic_param_get(ORNIC_PARAM_GET_ARGS)
{
	struct ornic_dev *od = devlink_priv(devlink);
	struct ornic_policy p;

	ornic_get_policy(&od->core, &p);
	switch (id) {
	case ORNIC_PARAM_MPA_REV:
		ctx->val.vu8 = p.mpa_rev;
		break;
	case ORNIC_PARAM_MPA_CRC:
		ctx->val.vbool = p.mpa_crc;
		break;
	case ORNIC_PARAM_MPA_MARKERS:
		ctx->val.vbool = p.mpa_markers;
		break;
	case ORNIC_PARAM_PEER_TO_PEER:
		ctx->val.vbool = p.peer_to_peer;
		break;
	case ORNIC_PARAM_RTR_TYPES:
		ctx->val.vu8 = p.rtr_types;
		break;
	case ORNIC_PARAM_MPA_TIMEOUT:
		ctx->val.vu32 = p.mpa_timeout_ms;
		break;
	case ORNIC_PARAM_CLOSE_TIMEOUT:
		ctx->val.vu32 = p.close_timeout_ms;
		break;
	case ORNIC_PARAM_WINDOW:
		ctx->val.vu32 = p.window;
		break;
	case ORNIC_PARAM_KEEPALIVE_TIME:
		ctx->val.vu32 = p.keepalive_s;
		break;
	default:
		ctx->val.vbool = p.tcp_options & ornic_param_tcp_option(id);
	}
	return 0;
}

static void ornic_param_store(struct ornic_policy *p, u32 id, const union devlink_param_value *val)
{
	switch (id) {
	case ORNIC_PARAM_MPA_REV:
		p->mpa_rev = val->vu8;
		break;
	case ORNIC_PARAM_MPA_CRC:
		p->mpa_crc = val->vbool;
		break;
	case ORNIC_PARAM_MPA_MARKERS:
		p->mpa_markers = val->vbool;
		break;
	case ORNIC_PARAM_PEER_TO_PEER:
		p->peer_to_peer = val->vbool;
		break;
	case ORNIC_PARAM_RTR_TYPES:
		p->rtr_types = val->vu8;
		break;
	case ORNIC_PARAM_MPA_TIMEOUT:
		p->mpa_timeout_ms = val->vu32;
		break;
	case ORNIC_PARAM_CLOSE_TIMEOUT:
		p->close_timeout_ms = val->vu32;
		break;
	case ORNIC_PARAM_WINDOW:
		p->window = val->vu32;
		break;
	case ORNIC_PARAM_KEEPALIVE_TIME:
		p->keepalive_s = val->vu32;
		break;
	default:
		p->tcp_options &= ~ornic_param_tcp_option(id);
		if (val->vbool)
			p->tcp_options |= ornic_param_tcp_option(id);
	}
}

static int ornic_param_set(ORNIC_PARAM_SET_ARGS)
{
	struct ornic_dev *od = devlink_priv(devlink);

	mutex_lock(&od->policy_lock);
	ornic_param_store(&od->policy, id, &ctx->val);
	mutex_unlock(&od->policy_lock);
	return 0;
}

static int ornic_param_validate(ORNIC_PARAM_VALIDATE_ARGS)
{
	union devlink_param_value v = ornic_param_value(value);
	struct ornic_dev *od = devlink_priv(devlink);
	const char *why = NULL;

	switch (id) {
	case ORNIC_PARAM_MPA_REV:
		if (v.vu8 < 1 || v.vu8 > 2)
			why = "MPA revision is 1 or 2";
		break;
	case ORNIC_PARAM_MPA_MARKERS:
		if (v.vbool && !(od->core.limits.caps & ORNIC_CAP_MARKERS))
			why = "The device does not do markers";
		break;
	case ORNIC_PARAM_RTR_TYPES:
		if (!v.vu8 || (v.vu8 & ~(BIT(ORNIC_RTR_SEND) | BIT(ORNIC_RTR_WRITE) |
					 BIT(ORNIC_RTR_READ))))
			why = "Bits 1 (Send), 2 (Write) and 3 (Read), at least one";
		break;
	case ORNIC_PARAM_MPA_TIMEOUT:
	case ORNIC_PARAM_CLOSE_TIMEOUT:
		if (v.vu32 < ORNIC_TIMEOUT_MIN_MS || v.vu32 > ORNIC_TIMEOUT_MAX_MS)
			why = "From 100 to 3600000 milliseconds";
		break;
	case ORNIC_PARAM_WINDOW:
		if (v.vu32 < ORNIC_WINDOW_MIN || v.vu32 > od->core.limits.max_window)
			why = "From 4096 bytes to the greatest window of the device";
		break;
	case ORNIC_PARAM_KEEPALIVE_TIME:
		if (!v.vu32 || v.vu32 > U16_MAX)
			why = "From 1 to 65535 seconds";
		break;
	}
	if (!why)
		return 0;
	ornic_set_err_msg(extack, why);
	return -EINVAL;
}

#define ORNIC_PARAM(id, name, type) \
	DEVLINK_PARAM_DRIVER(ORNIC_PARAM_##id, name, DEVLINK_PARAM_TYPE_##type, \
			     BIT(DEVLINK_PARAM_CMODE_RUNTIME), ornic_param_get, \
			     ornic_param_set, ornic_param_validate)

static const struct devlink_param ornic_params[] = {
	ORNIC_PARAM(MPA_REV, "mpa_rev", U8),
	ORNIC_PARAM(MPA_CRC, "mpa_crc", BOOL),
	ORNIC_PARAM(MPA_MARKERS, "mpa_markers", BOOL),
	ORNIC_PARAM(PEER_TO_PEER, "peer_to_peer", BOOL),
	ORNIC_PARAM(RTR_TYPES, "rtr_types", U8),
	ORNIC_PARAM(MPA_TIMEOUT, "mpa_timeout_ms", U32),
	ORNIC_PARAM(CLOSE_TIMEOUT, "close_timeout_ms", U32),
	ORNIC_PARAM(WINDOW, "tcp_window", U32),
	ORNIC_PARAM(TCP_WSCALE, "tcp_window_scaling", BOOL),
	ORNIC_PARAM(TCP_TIMESTAMPS, "tcp_timestamps", BOOL),
	ORNIC_PARAM(TCP_SACK, "tcp_sack", BOOL),
	ORNIC_PARAM(TCP_KEEPALIVE, "tcp_keepalive", BOOL),
	ORNIC_PARAM(TCP_NAGLE, "tcp_nagle", BOOL),
	ORNIC_PARAM(KEEPALIVE_TIME, "tcp_keepalive_time_s", U32),
};

static int ornic_devlink_info(struct devlink *devlink, struct devlink_info_req *req,
			      struct netlink_ext_ack *extack)
{
	struct ornic_dev *od = devlink_priv(devlink);
	char buf[32];
	int rc;

	ornic_firmware_version(&od->core, buf, sizeof(buf));
	rc = devlink_info_version_running_put(req, DEVLINK_INFO_VERSION_GENERIC_FW, buf);
	if (rc)
		return rc;
	snprintf(buf, sizeof(buf), "%u.%u", ORNIC_IFVER_MAJOR_NOW, ORNIC_IFVER_MINOR_NOW);
	return devlink_info_version_fixed_put(req, "interface", buf);
}

static int ornic_devlink_reload_down(struct devlink *devlink, bool netns_change,
				     enum devlink_reload_action action,
				     enum devlink_reload_limit limit,
				     struct netlink_ext_ack *extack)
{
	struct ornic_dev *od = devlink_priv(devlink);

	if (netns_change) {
		NL_SET_ERR_MSG(extack, "Move the network device instead");
		return -EOPNOTSUPP;
	}
	ornic_dev_hold(od, ORNIC_RESET_USER);
	return 0;
}

static int ornic_devlink_reload_up(struct devlink *devlink, enum devlink_reload_action action,
				   enum devlink_reload_limit limit, u32 *actions_performed,
				   struct netlink_ext_ack *extack)
{
	*actions_performed = BIT(DEVLINK_RELOAD_ACTION_DRIVER_REINIT);
	return ornic_dev_release(devlink_priv(devlink));
}

static const struct devlink_ops ornic_devlink_ops = {
	.info_get	= ornic_devlink_info,
	.reload_actions	= BIT(DEVLINK_RELOAD_ACTION_DRIVER_REINIT),
	.reload_down	= ornic_devlink_reload_down,
	.reload_up	= ornic_devlink_reload_up,
};

/**
 * ornic_devlink_alloc() - devlink instance with room for a struct ornic_dev
 * @pdev: PCI function
 *
 * Context: Process context, may sleep.
 * Return: the instance, its private part zeroed, or NULL
 */
struct devlink *ornic_devlink_alloc(struct pci_dev *pdev)
{
	return devlink_alloc(&ornic_devlink_ops, sizeof(struct ornic_dev), &pdev->dev);
}

/**
 * ornic_devlink_register() - make instance and parameters visible
 * @od: the function, its device queried
 *
 * Context: Process context, takes the devlink lock.
 * Return: 0 or a negative errno
 */
int ornic_devlink_register(struct ornic_dev *od)
{
	int rc;

	od->policy.window = min_t(u32, od->policy.window, od->core.limits.max_window);
	rc = devlink_params_register(od->devlink, ornic_params, ARRAY_SIZE(ornic_params));
	if (rc)
		return rc;
	devlink_register(od->devlink);
	od->devlink_registered = true;
	return 0;
}

/**
 * ornic_devlink_unregister() - undo ornic_devlink_register()
 * @od: the function; one that is not registered is left alone
 *
 * Context: Process context, takes the devlink lock; a reload is waited for.
 */
void ornic_devlink_unregister(struct ornic_dev *od)
{
	if (!od->devlink_registered)
		return;
	devlink_unregister(od->devlink);
	devlink_params_unregister(od->devlink, ornic_params, ARRAY_SIZE(ornic_params));
	od->devlink_registered = false;
}
