// SPDX-License-Identifier: GPL-2.0-or-later
/* A reader of JSON (RFC 8259) that keeps three values and checks the rest's syntax. */
#include <errno.h>

#include "vfu/json.h"

#define JSON_DEPTH 16
#define JSON_KEY   32

enum json_type {
	JSON_NUMBER,
	JSON_BOOL,
	JSON_OTHER
};

struct json {
	const char *p, *end;
	struct vfu_caps *caps;
};

struct json_value {
	enum json_type type;
	u64 num; /* for JSON_BOOL 0 or 1; saturates */
};

static int parse_value(struct json *j, int depth, bool in_caps, struct json_value *v);

static int peek(struct json *j)
{
	while (j->p < j->end && (*j->p == ' ' || *j->p == '\t' || *j->p == '\n' || *j->p == '\r'))
		j->p++;
	return j->p < j->end ? (unsigned char)*j->p : -1;
}

static bool eat(struct json *j, char c)
{
	if (peek(j) != c)
		return false;
	j->p++;
	return true;
}

static bool eat_word(struct json *j, const char *word)
{
	size_t n = strlen(word);

	if ((size_t)(j->end - j->p) < n || memcmp(j->p, word, n))
		return false;
	j->p += n;
	return true;
}

/* Keeps what fits of the text, undecoded: known keys have no escapes. */
static int parse_string(struct json *j, char *out, size_t room)
{
	size_t n = 0;

	if (!eat(j, '"'))
		return -EINVAL;
	while (j->p < j->end && *j->p != '"') {
		if ((unsigned char)*j->p < 0x20)
			return -EINVAL;
		if (*j->p == '\\' && ++j->p == j->end)
			return -EINVAL;
		if (n + 1 < room)
			out[n++] = *j->p;
		j->p++;
	}
	if (j->p == j->end)
		return -EINVAL;
	j->p++;
	if (room)
		out[n] = 0;
	return 0;
}

static size_t skip_digits(struct json *j, u64 *num)
{
	const char *begin = j->p;

	for (; j->p < j->end && *j->p >= '0' && *j->p <= '9'; j->p++)
		if (__builtin_mul_overflow(*num, 10, num) ||
		    __builtin_add_overflow(*num, (u64)(*j->p - '0'), num))
			*num = UINT64_MAX;
	return (size_t)(j->p - begin);
}

static int parse_number(struct json *j, struct json_value *v)
{
	bool whole = *j->p != '-';
	u64 rest = 0;

	if (!whole)
		j->p++;
	if (!skip_digits(j, &v->num))
		return -EINVAL;
	if (j->p < j->end && *j->p == '.') {
		j->p++;
		whole = false;
		if (!skip_digits(j, &rest))
			return -EINVAL;
	}
	if (j->p < j->end && (*j->p == 'e' || *j->p == 'E')) {
		j->p++;
		whole = false;
		if (j->p < j->end && (*j->p == '+' || *j->p == '-'))
			j->p++;
		if (!skip_digits(j, &rest))
			return -EINVAL;
	}
	v->type = whole ? JSON_NUMBER : JSON_OTHER;
	return 0;
}

static int use_cap(struct vfu_caps *caps, const char *key, const struct json_value *v)
{
	enum json_type want = JSON_NUMBER;

	if (!strcmp(key, "write_multiple"))
		want = JSON_BOOL;
	else if (strcmp(key, "max_msg_fds") && strcmp(key, "max_data_xfer_size"))
		return 0;
	if (v->type != want)
		return -EINVAL;
	if (want == JSON_BOOL)
		caps->write_multiple = v->num;
	else if (!strcmp(key, "max_msg_fds"))
		caps->max_msg_fds = v->num;
	else
		caps->max_data_xfer_size = v->num;
	return 0;
}

static int parse_member(struct json *j, int depth, bool in_caps)
{
	struct json_value v = {.type = JSON_OTHER};
	char key[JSON_KEY];
	int ret;

	ret = parse_string(j, key, sizeof(key));
	if (ret)
		return ret;
	if (!eat(j, ':'))
		return -EINVAL;
	ret = parse_value(j, depth, depth == 1 && !strcmp(key, "capabilities"), &v);
	if (!ret && in_caps)
		ret = use_cap(j->caps, key, &v);
	return ret;
}

static int parse_object(struct json *j, int depth, bool in_caps)
{
	int ret;

	if (!eat(j, '{'))
		return -EINVAL;
	if (eat(j, '}'))
		return 0;
	do {
		ret = parse_member(j, depth, in_caps);
		if (ret)
			return ret;
	} while (eat(j, ','));
	return eat(j, '}') ? 0 : -EINVAL;
}

static int parse_array(struct json *j, int depth)
{
	struct json_value v;
	int ret;

	if (!eat(j, '['))
		return -EINVAL;
	if (eat(j, ']'))
		return 0;
	do {
		ret = parse_value(j, depth, false, &v);
		if (ret)
			return ret;
	} while (eat(j, ','));
	return eat(j, ']') ? 0 : -EINVAL;
}

/* @depth: number of objects and arrays around this value. */
static int parse_value(struct json *j, int depth, bool in_caps, struct json_value *v)
{
	int c = peek(j);

	v->type = JSON_OTHER;
	v->num = 0;
	if (depth == JSON_DEPTH)
		return -EINVAL;
	if (c == '{')
		return parse_object(j, depth + 1, in_caps);
	if (c == '[')
		return parse_array(j, depth + 1);
	if (c == '"')
		return parse_string(j, NULL, 0);
	if (c == '-' || (c >= '0' && c <= '9'))
		return parse_number(j, v);
	if (eat_word(j, "null"))
		return 0;
	v->type = JSON_BOOL;
	v->num = c == 't';
	return eat_word(j, c == 't' ? "true" : "false") ? 0 : -EINVAL;
}

int vfu_parse_caps(const char *s, size_t len, struct vfu_caps *caps)
{
	struct json j = {.p = s, .end = s + len, .caps = caps};
	struct json_value v;
	int ret;

	/* Defaults of the protocol for a VMM that says nothing. */
	caps->max_msg_fds = 1;
	caps->max_data_xfer_size = 1048576;
	caps->write_multiple = false;
	if (peek(&j) < 0)
		return 0;
	if (peek(&j) != '{')
		return -EINVAL;
	ret = parse_value(&j, 0, false, &v);
	if (ret)
		return ret;
	return peek(&j) < 0 ? 0 : -EINVAL;
}
