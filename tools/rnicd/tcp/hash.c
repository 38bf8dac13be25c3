// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Keyed hash and the table of flows. The key is random, so that a peer cannot aim at one bucket.
 */
#include "internal.h"

static inline uint64_t rotl(uint64_t v, unsigned int n)
{
	return v << n | v >> (64 - n);
}

static inline void sip_round(uint64_t v[4])
{
	v[0] += v[1];
	v[1] = rotl(v[1], 13) ^ v[0];
	v[0] = rotl(v[0], 32);
	v[2] += v[3];
	v[3] = rotl(v[3], 16) ^ v[2];
	v[0] += v[3];
	v[3] = rotl(v[3], 21) ^ v[0];
	v[2] += v[1];
	v[1] = rotl(v[1], 17) ^ v[2];
	v[2] = rotl(v[2], 32);
}

/* SipHash-1-3 over whole 64-bit words */
uint64_t siphash_words(const struct sipkey *key, const uint64_t *w, unsigned int n)
{
	uint64_t v[4] = {
		key->k[0] ^ 0x736f6d6570736575ull,
		key->k[1] ^ 0x646f72616e646f6dull,
		key->k[0] ^ 0x6c7967656e657261ull,
		key->k[1] ^ 0x7465646279746573ull,
	};
	uint64_t last = (uint64_t)n << 59;

	for (unsigned int i = 0; i < n; i++) {
		v[3] ^= w[i];
		sip_round(v);
		v[0] ^= w[i];
	}
	v[3] ^= last;
	sip_round(v);
	v[0] ^= last;
	v[2] ^= 0xff;
	for (int i = 0; i < 3; i++)
		sip_round(v);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

void flow_from_tuple(struct flow *f, const struct tcp_tuple *t)
{
	f->w[0] = (uint64_t)get32(t->local.b) << 32 | get32(t->remote.b);
	f->w[1] = (uint64_t)t->scope << 40 | (uint64_t)t->local.family << 32 |
		  (uint32_t)t->lport << 16 | t->rport;
	f->w[2] = 0;
	f->w[3] = 0;
	f->w[4] = 0;
	if (t->local.family != IP_V6)
		return;
	f->w[2] = (uint64_t)get32(t->local.b + 4) << 32 | get32(t->remote.b + 4);
	f->w[3] = (uint64_t)get32(t->local.b + 8) << 32 | get32(t->remote.b + 8);
	f->w[4] = (uint64_t)get32(t->local.b + 12) << 32 | get32(t->remote.b + 12);
}

static unsigned int flow_words(const struct flow *f)
{
	return (f->w[1] >> 32 & 0xff) == IP_V6 ? 5 : 2;
}

uint64_t flow_hash(const struct tcp_engine *e, const struct flow *f)
{
	return siphash_words(&e->flow_key, f->w, flow_words(f));
}

static bool flow_equal(const struct flow *a, const struct flow *b)
{
	if (a->w[0] != b->w[0] || a->w[1] != b->w[1])
		return false;
	return a->w[2] == b->w[2] && a->w[3] == b->w[3] && a->w[4] == b->w[4];
}

struct flow_node *flow_find(const struct tcp_engine *e, const struct flow *f, uint64_t hash)
{
	struct flow_node *n = e->buckets[hash & e->bucket_mask];

	while (n && (n->hash != hash || !flow_equal(&n->flow, f)))
		n = n->next;
	return n;
}

void flow_insert(struct tcp_engine *e, struct flow_node *n, enum flow_kind kind,
		 const struct flow *f)
{
	struct flow_node **b;

	n->flow = *f;
	n->hash = flow_hash(e, f);
	n->kind = kind;
	b = &e->buckets[n->hash & e->bucket_mask];
	n->next = *b;
	*b = n;
}

void flow_remove(struct tcp_engine *e, struct flow_node *n)
{
	struct flow_node **p = &e->buckets[n->hash & e->bucket_mask];

	while (*p && *p != n)
		p = &(*p)->next;
	if (*p)
		*p = n->next;
	n->next = NULL;
}
