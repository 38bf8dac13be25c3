/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* OpenRNIC core driver: what its files share. Each function's contract stands at its definition. */
#ifndef _ORNIC_CORE_H
#define _ORNIC_CORE_H

#include <linux/completion.h>
#include <linux/ethtool.h>
#include <linux/idr.h>
#include <linux/if_ether.h>
#include <linux/io.h>
#include <linux/mutex.h>
#include <linux/netfilter.h>
#include <linux/notifier.h>
#include <linux/spinlock.h>
#include <linux/srcu.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <linux/ornic.h>
#include <net/devlink.h>

#define ORNIC_DRV_NAME		"ornic"

/* MSI-X vectors: command queue, asynchronous and TCP events, Ethernet ring pairs, the rest EQs. */
#define ORNIC_VEC_CMDQ		0
#define ORNIC_VEC_ASYNC		1
#define ORNIC_VEC_ETH		2
#define ORNIC_VEC_MIN		4
#define ORNIC_MAX_ETH_QUEUES	8
#define ORNIC_MAX_COMP_VECTORS	16

#define ORNIC_EQN_ASYNC		0
#define ORNIC_EQN_TCP		1
#define ORNIC_EQN_COMP		2

#define ORNIC_ALL_ONES		(~0u)

/* struct ornic_dev.state */
enum ornic_state_bit {
	ORNIC_S_RUNNING,	/* commands are taken */
	ORNIC_S_QUIET,		/* the device does no DMA */
	ORNIC_S_UP,		/* ornic_dev_up() was done and ornic_dev_down() was not */
	ORNIC_S_REMOVING,	/* no reset is started any more */
	ORNIC_S_HELD,		/* PCI core or PM holds the function down */
	ORNIC_S_GONE,		/* registers read all-ones */
};

enum ornic_slot_state {
	ORNIC_SLOT_FREE,
	ORNIC_SLOT_PENDING,
	ORNIC_SLOT_DONE,	/* answered, result is in the slot */
	ORNIC_SLOT_ABORTED,	/* reset or removal before an answer */
	ORNIC_SLOT_LEAKED,	/* its waiter gave up; free when the answer comes, or by reset */
};

/**
 * struct ornic_cmd_slot - one command on its way
 * @done: completed when @state leaves PENDING
 * @state: enum ornic_slot_state, under the queue's lock
 * @gen: generation, in the upper half of the command id
 * @opcode: of the command, for messages
 * @result: the answer
 */
struct ornic_cmd_slot {
	struct completion done;
	enum ornic_slot_state state;
	u16 gen;
	u16 opcode;
	struct ornic_cmd_result result;
};

#define ORNIC_CMDQ_SHIFT	6	/* log2 of ORNIC_CMDQ_DEPTH */
#define ORNIC_CMDQ_DEPTH	64

/**
 * struct ornic_cmdq - command queue
 * @lock: all below; taken in hard interrupt context
 * @sq: submission ring
 * @sq_dma: its DMA address
 * @cq: completion ring
 * @cq_dma: its DMA address
 * @tail: free-running submission index
 * @ci: free-running completion index
 * @used: slots not free
 * @slots: slots
 * @room: waits for a free slot
 * @missed_irqs: answers that were found without an interrupt
 */
struct ornic_cmdq {
	spinlock_t lock; /* all below */
	void *sq;
	dma_addr_t sq_dma;
	struct ornic_cmd_cqe *cq;
	dma_addr_t cq_dma;
	u32 tail;
	u32 ci;
	DECLARE_BITMAP(used, ORNIC_CMDQ_DEPTH);
	struct ornic_cmd_slot slots[ORNIC_CMDQ_DEPTH];
	wait_queue_head_t room;
	u64 missed_irqs;
};

/**
 * struct ornic_eq - event queue
 * @od: the function
 * @eqn: number
 * @kind: enum ornic_eq_kind
 * @shift: log2 of the depth
 * @entry_shift: log2 of an entry's size
 * @vector: MSI-X vector
 * @live: created in the device
 * @lock: @ci of a completion EQ
 * @ci: free-running consumer index
 * @told: @ci of the last doorbell
 * @rec: completion EQ with ORNIC_CAP_ARM_REC: the record that arms it; else NULL
 * @idle_ci: @ci when the watchdog looked last, to find lost interrupts
 * @ring: entries
 * @data: TCP: data slots
 * @copy: TCP: one of them, while its event is handled
 * @work: asynchronous and TCP: the consumer, on the function's ordered workqueue
 */
struct ornic_eq {
	struct ornic_dev *od;
	u32 eqn;
	u8 kind;
	u8 shift;
	u8 entry_shift;
	u16 vector;
	bool live;
	spinlock_t lock; /* ci of a completion EQ */
	u32 ci;
	u32 told;
	u32 idle_ci;
	struct ornic_qbuf ring;
	struct ornic_qbuf data;
	void *copy;
	struct ornic_queue_rec *rec;
	struct work_struct work;
};

/**
 * struct ornic_vector - one MSI-X interrupt
 * @od: the function
 * @index: MSI-X entry
 * @irq: Linux interrupt number
 * @name: as in /proc/interrupts
 * @requested: request_irq() was done
 */
struct ornic_vector {
	struct ornic_dev *od;
	u32 index;
	int irq;
	char name[32];
	bool requested;
};

/**
 * struct ornic_rdma_client - the registered RDMA driver
 * @ops: its events
 * @ctx: its argument
 * @fatal_told: fatal() was called
 */
struct ornic_rdma_client {
	const struct ornic_rdma_ops *ops;
	void *ctx;
	bool fatal_told;
};

/**
 * struct ornic_rest - a released number that rests; made with its object, so that releasing cannot
 * fail
 * @node: in struct ornic_ids
 * @id: number
 */
struct ornic_rest {
	struct list_head node;
	u32 id;
};

/**
 * struct ornic_ids - numbers of connections or listeners, which rest until the TCP EQ was drained
 * past their release
 * @ida: numbers in use
 * @max: greatest number
 * @resting: numbers released by the device, whose events may still be in the EQ
 * @draining: those of them that are free when the EQ is found empty or was gone through once
 * @drain_from: consumer index of the EQ when @draining was filled
 * @lock: @resting and @draining
 */
struct ornic_ids {
	struct ida ida;
	u32 max;
	struct list_head resting;
	struct list_head draining;
	u32 drain_from;
	spinlock_t lock; /* resting, draining, drain_from */
};

struct ornic_net;

/**
 * struct ornic_dev - a PCI function
 * @core: what the RDMA driver sees
 * @devlink: devlink instance, whose private part this is
 * @devlink_registered: it is visible
 * @regs: BAR 0
 * @state: enum ornic_state_bit
 * @quiet_wait: waits for ORNIC_S_QUIET
 * @reset_lock: serialises ornic_dev_up() and ornic_dev_down()
 * @reset_work: down and up again
 * @reset_reason: why, enum ornic_reset_reason
 * @fatal_work: tells the RDMA driver of a device that failed, whoever holds @reset_lock
 * @resets: number of resets done
 * @failed_resets: resets in succession that did not bring the device up
 * @watchdog: looks for a dead or gone device and for lost interrupts
 * @attr: QUERY_DEVICE's answer
 * @cmdq: command queue
 * @vecs: interrupts
 * @num_vecs: number of them
 * @num_eth: Ethernet ring pairs
 * @aeq: asynchronous EQ
 * @teq: TCP EQ
 * @ceqs: completion EQs
 * @wq: ordered workqueue of asynchronous and TCP events
 * @net: Ethernet port
 * @client: RDMA driver, under @client_srcu
 * @client_srcu: readers call the RDMA driver
 * @client_lock: writers of @client, and telling it of a fatal error
 * @adev: auxiliary device, NULL without
 * @adev_id: its number, -1 without
 * @db_pages: doorbell pages in use
 * @max_db_page: greatest page number
 * @conns: connections by id
 * @conn_ids: ids of connections
 * @listens: listeners by id
 * @listen_ids: ids of listeners
 * @listen_list: struct ornic_listen, under @listen_lock
 * @listen_lock: listeners, may be taken under RTNL
 * @teq_task: task that runs TCP events, for ornic_conn_free() out of its own event
 * @teq_current: connection or listener whose function runs, under @conns' or @listens' lock
 * @teq_idle: waits for @teq_current to change
 * @nh_lock: next-hop table, may be taken under RTNL
 * @nh_list: next hops; changed under @nh_lock and @nh_spin
 * @nh_spin: lets atomic notifiers read @nh_list
 * @nh_ida: indexes
 * @nh_work: writes changed next hops to the device
 * @reroute_work: finds new next hops for live connections
 * @nh_listening: the notifiers are registered
 * @netdev_nb: netdev notifier
 * @netevent_nb: neighbour notifier
 * @fib_nb: notifier of routes
 * @icmp_hooks: see ICMP redirects, of IPv4 and IPv6
 * @routes_work: registers @fib_nb and @icmp_hooks
 * @routes_net: namespace where both are registered: that of the port's network device, no
 *   reference; under RTNL
 * @policy: devlink parameters
 * @policy_lock: @policy
 */
struct ornic_dev {
	struct ornic_core core;
	struct devlink *devlink;
	bool devlink_registered;
	void __iomem *regs;
	unsigned long state;
	wait_queue_head_t quiet_wait;

	struct mutex reset_lock; /* ornic_dev_up(), ornic_dev_down() */
	struct work_struct reset_work;
	enum ornic_reset_reason reset_reason;
	struct work_struct fatal_work;
	u32 resets;
	u32 failed_resets;
	struct delayed_work watchdog;

	struct ornic_device_attr attr;
	struct ornic_cmdq cmdq;
	struct ornic_vector *vecs;
	u32 num_vecs;
	u32 num_eth;
	struct ornic_eq aeq;
	struct ornic_eq teq;
	struct ornic_eq ceqs[ORNIC_MAX_COMP_VECTORS];
	struct workqueue_struct *wq;

	struct ornic_net *net;

	struct ornic_rdma_client __rcu *client;
	struct srcu_struct client_srcu;
	struct mutex client_lock; /* writers of client, fatal() */
	struct ornic_adev *adev;
	int adev_id;
	struct ida db_pages;
	u32 max_db_page;

	struct xarray conns;
	struct ornic_ids conn_ids;
	struct xarray listens;
	struct ornic_ids listen_ids;
	struct list_head listen_list;
	struct mutex listen_lock; /* listen_list */
	struct task_struct *teq_task;
	void *teq_current;
	wait_queue_head_t teq_idle;

	struct mutex nh_lock; /* next-hop table */
	struct list_head nh_list;
	spinlock_t nh_spin; /* nh_list for atomic notifiers */
	struct ida nh_ida;
	struct work_struct nh_work;
	struct delayed_work reroute_work;
	bool nh_listening;
	struct notifier_block netdev_nb;
	struct notifier_block netevent_nb;
	struct notifier_block fib_nb;
#ifdef CONFIG_NETFILTER
	struct nf_hook_ops icmp_hooks[1 + IS_ENABLED(CONFIG_IPV6)];
#endif
	struct work_struct routes_work;
	struct net *routes_net;

	struct ornic_policy policy;
	struct mutex policy_lock; /* policy */
};

static inline struct ornic_dev *ornic_dev_of(struct ornic_core *core)
{
	return container_of(core, struct ornic_dev, core);
}

static inline struct device *ornic_device(struct ornic_dev *od)
{
	return &od->core.pdev->dev;
}

static inline u32 ornic_read(struct ornic_dev *od, u32 reg)
{
	return readl(od->regs + reg);
}

static inline void ornic_write(struct ornic_dev *od, u32 reg, u32 val)
{
	writel(val, od->regs + reg);
}

/* Phase that entry i of a ring of 2^shift entries has when it is valid. */
static inline bool ornic_phase(u32 i, u8 shift)
{
	return !((i >> shift) & 1);
}

/* device.c: the function as a whole */
int ornic_dev_probe_hw(struct ornic_dev *od);
int ornic_dev_up(struct ornic_dev *od);
void ornic_dev_down(struct ornic_dev *od, enum ornic_reset_reason reason);
void ornic_dev_fail(struct ornic_dev *od, enum ornic_reset_reason reason);
void ornic_dev_hold(struct ornic_dev *od, enum ornic_reset_reason reason);
void ornic_dev_leave(struct ornic_dev *od);
int ornic_dev_release(struct ornic_dev *od);
bool ornic_dev_check(struct ornic_dev *od);
void ornic_dev_release_irqs(struct ornic_dev *od);
int ornic_dev_request_irqs(struct ornic_dev *od);
void ornic_dev_reset_work(struct work_struct *work);
void ornic_dev_fatal_work(struct work_struct *work);
void ornic_dev_watchdog(struct work_struct *work);
void ornic_dev_wait_quiet(struct ornic_dev *od);

/* cmdq.c */
int ornic_cmdq_alloc(struct ornic_dev *od);
void ornic_cmdq_free(struct ornic_dev *od);
void ornic_cmdq_prepare(struct ornic_dev *od);
void ornic_cmdq_irq(struct ornic_dev *od);
void ornic_cmdq_abort(struct ornic_dev *od);
int ornic_cmd_number(struct ornic_dev *od, u16 opcode, u32 number, struct ornic_cmd_result *res);
int ornic_cmd_exec_buf(struct ornic_dev *od, void *cmd, void *buf, size_t len,
		       enum dma_data_direction dir, struct ornic_cmd_result *res);

/* eq.c */
int ornic_eqs_alloc(struct ornic_dev *od);
void ornic_eqs_free(struct ornic_dev *od);
int ornic_eqs_start(struct ornic_dev *od);
void ornic_eqs_stop(struct ornic_dev *od);
void ornic_ceq_irq(struct ornic_eq *eq);
void ornic_async_irq(struct ornic_dev *od);
void ornic_eqs_watch(struct ornic_dev *od);

/* netdev.c, txrx.c, ethtool.c */
int ornic_net_alloc(struct ornic_dev *od);
int ornic_net_register(struct ornic_dev *od);
void ornic_net_unregister(struct ornic_dev *od);
void ornic_net_free(struct ornic_dev *od);
int ornic_net_up(struct ornic_dev *od);
void ornic_net_down(struct ornic_dev *od);
void ornic_net_link(struct ornic_dev *od);
void ornic_net_irq(struct ornic_dev *od, u32 queue);
void ornic_net_watch(struct ornic_dev *od);
extern const struct ethtool_ops ornic_ethtool_ops;

/* rdma.c */
int ornic_rdma_init(struct ornic_dev *od);
void ornic_rdma_exit(struct ornic_dev *od);
int ornic_adev_add(struct ornic_dev *od);
void ornic_adev_remove(struct ornic_dev *od);
void ornic_rdma_comp_event(struct ornic_dev *od, u32 cqn);
void ornic_rdma_async_event(struct ornic_dev *od, const struct ornic_aeqe *aeqe);
void ornic_rdma_link_event(struct ornic_dev *od, bool up);
void ornic_rdma_addr_event(struct ornic_dev *od);
void ornic_rdma_fatal(struct ornic_dev *od);

/* tcp.c, listen.c */
void ornic_tcp_init(struct ornic_dev *od);
void ornic_tcp_exit(struct ornic_dev *od);
void ornic_tcp_event(struct ornic_dev *od, const struct ornic_teqe *teqe, const void *data);
void ornic_tcp_round_begin(struct ornic_dev *od);
void ornic_tcp_round_end(struct ornic_dev *od, bool empty);
void ornic_tcp_stopped(struct ornic_dev *od);
void ornic_tcp_reroute(struct ornic_dev *od);
void ornic_tcp_reroute_work(struct work_struct *work);
bool ornic_tcp_has(struct ornic_dev *od, const struct sockaddr_storage *local,
		   const struct sockaddr_storage *remote);
void ornic_tcp_dev_gone(struct ornic_dev *od, const struct net_device *dev);
struct ornic_rest *ornic_ids_get(struct ornic_ids *ids);
void ornic_ids_free(struct ornic_ids *ids, struct ornic_rest *rest);
void ornic_ids_rest(struct ornic_dev *od, struct ornic_ids *ids, struct ornic_rest *rest);
void ornic_tcp_run_end(struct ornic_dev *od);
void ornic_tcp_wait_idle(struct ornic_dev *od, void *object);
void ornic_listen_event(struct ornic_dev *od, const struct ornic_teqe *teqe, const void *data);
void ornic_listen_follow(struct ornic_dev *od);
void ornic_listen_vlan_up(struct ornic_dev *od, struct net_device *dev);
void ornic_listen_vlan_gone(struct ornic_dev *od, struct net_device *dev);

/* filter.c */
bool ornic_filter_syn(struct ornic_core *core, const struct ornic_syn *syn,
		      enum ornic_refuse *how);
int ornic_filter_open(struct ornic_nexthop *nh, const struct sockaddr_storage *local,
		      const struct sockaddr_storage *remote, const struct ornic_tcp_params *params);

enum ornic_way {
	ORNIC_WAY_NEIGH,	/* to a neighbour */
	ORNIC_WAY_LOOP,		/* the remote address is one of the port's own */
	ORNIC_WAY_NONE,		/* nowhere at present */
};

/**
 * struct ornic_route - where a connection's frames go; made by ornic_route_lookup(), ended by
 * ornic_route_put()
 * @way: kind
 * @dev: the port's network device or a VLAN on it, with a reference
 * @neigh: neighbour with a reference, or NULL
 * @mtu: MTU of the route if it is smaller than the device's, else 0
 * @dst: the route itself with a reference, or NULL
 * @cookie: for dst_check()
 */
struct ornic_route {
	enum ornic_way way;
	struct net_device *dev;
	struct neighbour *neigh;
	u32 mtu;
	struct dst_entry *dst;
	u32 cookie;
};

/* nexthop.c */
void ornic_nexthop_init(struct ornic_dev *od);
int ornic_nexthop_listen(struct ornic_dev *od);
void ornic_nexthop_exit(struct ornic_dev *od);
void ornic_nexthop_restore(struct ornic_dev *od);
void ornic_nexthop_watch(struct ornic_dev *od);
struct ornic_nexthop *ornic_nexthop_hold(struct ornic_nexthop *nh);
u32 ornic_nexthop_index(const struct ornic_nexthop *nh);
struct ornic_nexthop *ornic_nexthop_of(struct ornic_dev *od, const struct ornic_route *route);
struct ornic_nexthop *ornic_nexthop_none(struct ornic_nexthop *nh);
struct net_device *ornic_nexthop_dev(struct ornic_nexthop *nh);

/* routes.c */
void ornic_routes_init(struct ornic_dev *od);
void ornic_routes_exit(struct ornic_dev *od);
void ornic_routes_enter(struct ornic_dev *od);
void ornic_routes_leave(struct ornic_dev *od);

/* addr.c */
void ornic_route_put(struct ornic_route *route);
struct dst_entry *ornic_route_dst(struct net *net, const struct sockaddr_storage *local,
				  const struct sockaddr_storage *remote, u8 tos);
int ornic_route_lookup(struct ornic_core *core, struct net *net,
		       const struct sockaddr_storage *local,
		       const struct sockaddr_storage *remote, u8 tos, struct ornic_route *route);
struct net_device *ornic_addr_dev(struct ornic_core *core, struct net *net,
				  const struct sockaddr_storage *addr);
bool ornic_is_port_dev(struct ornic_core *core, const struct net_device *dev);
bool ornic_addr_is_any(const struct sockaddr_storage *addr);
int ornic_addr_pack(struct ornic_core *core, const struct sockaddr_storage *addr, u8 *bytes,
		    __le16 *port, u8 *family);

/* devlink.c */
void ornic_policy_init(struct ornic_dev *od);
int ornic_devlink_register(struct ornic_dev *od);
void ornic_devlink_unregister(struct ornic_dev *od);
struct devlink *ornic_devlink_alloc(struct pci_dev *pdev);

#endif /* _ORNIC_CORE_H */
