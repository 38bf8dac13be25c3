// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "script.h"

#define WAIT_MS	  15000
#define BUF_MAX	  8192
#define WORDS_MAX 32
#define PD_MAX	  1024

/* A run: its place in the script, how things are sent, and where the streams of FPDUs are. */
static struct run {
	const struct script_io *io;
	char *words[WORDS_MAX];
	int nwords;
	size_t piece;
	int pause_ms;
	bool hold;
	bool crc;
	bool tx_markers, rx_markers;
	uint32_t tx_pos, rx_pos;
	uint8_t out[BUF_MAX];
	size_t out_len;
	char *why;
	size_t why_len;
} run;

static bool fail(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

static bool fail(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(run.why, run.why_len, fmt, args);
	va_end(args);
	return false;
}

/* ---- words ---- */

static bool has(const char *word)
{
	int i;

	for (i = 1; i < run.nwords; i++)
		if (!strcmp(run.words[i], word))
			return true;
	return false;
}

static const char *value(const char *key)
{
	size_t len = strlen(key);
	int i;

	for (i = 1; i < run.nwords; i++)
		if (!strncmp(run.words[i], key, len) && run.words[i][len] == '=')
			return run.words[i] + len + 1;
	return NULL;
}

static uint64_t number(const char *key, uint64_t otherwise)
{
	const char *text = value(key);

	return text ? strtoull(text, NULL, 0) : otherwise;
}

static long word_number(int i)
{
	return i < run.nwords ? strtol(run.words[i], NULL, 0) : 0;
}

/* Private data: pd=TEXT, or pdlen=N for bytes 0, 1, 2 ... */
static size_t private_data(uint8_t *pd)
{
	size_t len = number("pdlen", 0), i;
	const char *text = value("pd");

	if (text) {
		len = strlen(text);
		memcpy(pd, text, len);
		return len;
	}
	for (i = 0; i < len && i < PD_MAX; i++)
		pd[i] = (uint8_t)i;
	return i;
}

/* ---- bytes ---- */

static void put(uint8_t *p, int bytes, uint64_t v)
{
	while (bytes--) {
		p[bytes] = (uint8_t)v;
		v >>= 8;
	}
}

static uint64_t get(const uint8_t *p, int bytes)
{
	uint64_t v = 0;

	while (bytes--)
		v = v << 8 | *p++;
	return v;
}

/* Bit by bit, from the polynomial (RFC 5044 4.4). */
static uint32_t crc32c_slowly(const uint8_t *p, size_t len)
{
	uint32_t crc = 0xffffffff;
	int i;

	while (len--) {
		crc ^= *p++;
		for (i = 0; i < 8; i++)
			crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78 : 0);
	}
	return ~crc;
}

static void put_crc(uint8_t *p, uint32_t crc)
{
	int i;

	for (i = 0; i < 4; i++)
		p[i] = (uint8_t)(crc >> 8 * i);
}

static bool send_out(void)
{
	size_t at = 0, n;

	while (at < run.out_len) {
		n = run.piece && run.piece < run.out_len - at ? run.piece : run.out_len - at;
		if (!run.io->send(run.out + at, n))
			return fail("the connection has ended, %zu bytes are not sent",
				    run.out_len - at);
		at += n;
		if (run.pause_ms)
			run.io->sleep(run.pause_ms);
	}
	run.out_len = 0;
	return true;
}

static bool emit(const uint8_t *p, size_t len)
{
	if (run.out_len + len > BUF_MAX)
		return fail("too much is held back");
	memcpy(run.out + run.out_len, p, len);
	run.out_len += len;
	return run.hold || send_out();
}

/* All of @len bytes. */
static bool take(uint8_t *p, size_t len, const char *what)
{
	size_t got = 0;
	int n;

	while (got < len) {
		n = run.io->recv(p + got, len - got, WAIT_MS);
		if (n == SCRIPT_FIN || n == SCRIPT_RST)
			return fail("%s in place of %s", n == SCRIPT_FIN ? "FIN" : "RST", what);
		if (n == SCRIPT_NOTHING)
			return fail("%zu bytes came, no %s", got, what);
		got += (size_t)n;
	}
	return true;
}

/* ---- MPA frames (RFC 5044 7.1, RFC 6581 9) ---- */

static bool say_frame(bool reply)
{
	uint8_t f[20 + 4 + PD_MAX], *pd = f + 20;
	int rev = (int)number("rev", 2);
	bool s = rev >= 2 && !has("plain");

	memset(f, 0, sizeof(f));
	memcpy(f, reply ? "MPA ID Rep Frame" : "MPA ID Req Frame", 16);
	f[16] = (uint8_t)((has("M") ? 0x80 : 0) | (has("C") ? 0x40 : 0) | (has("R") ? 0x20 : 0) |
			  (s ? 0x10 : 0));
	f[17] = (uint8_t)rev;
	if (s) {
		put(pd, 2, number("ird", 1) | (has("A") ? 0x8000 : 0) | (has("send") ? 0x4000 : 0));
		put(pd + 2, 2,
		    number("ord", 1) | (has("write") ? 0x8000 : 0) | (has("read") ? 0x4000 : 0));
		pd += 4;
	}
	pd += private_data(pd);
	put(f + 18, 2, number("length", (uint64_t)(pd - f - 20)));
	if (value("key"))
		f[0] = (uint8_t)*value("key");
	return emit(f, (size_t)number("cut", (uint64_t)(pd - f)));
}

static bool check_flag(uint64_t word, uint64_t bit, const char *name)
{
	char not_name[16];

	snprintf(not_name, sizeof(not_name), "!%s", name);
	if (has(name) && !(word & bit))
		return fail("%s is not set", name);
	if (has(not_name) && (word & bit))
		return fail("%s is set", name);
	return true;
}

static bool check_number(const char *key, uint64_t got)
{
	uint64_t want = number(key, got);

	return want == got || fail("%s is %llu, expected %llu", key, (unsigned long long)got,
				   (unsigned long long)want);
}

static bool check_enhanced(const uint8_t *p)
{
	uint64_t ird = get(p, 2), ord = get(p + 2, 2);

	return check_flag(ird, 0x8000, "A") && check_flag(ird, 0x4000, "send") &&
	       check_flag(ord, 0x8000, "write") && check_flag(ord, 0x4000, "read") &&
	       check_number("ird", ird & 0x3fff) && check_number("ord", ord & 0x3fff);
}

/* What the frame says is what FPDUs will be like. */
static bool hear_frame(bool reply)
{
	uint8_t f[20 + PD_MAX], pd[PD_MAX], *got = f + 20;
	size_t len, want;

	if (!take(f, 20, reply ? "an MPA reply" : "an MPA request"))
		return false;
	if (memcmp(f, reply ? "MPA ID Rep Frame" : "MPA ID Req Frame", 16))
		return fail("not the key of an MPA %s", reply ? "reply" : "request");
	len = (size_t)get(f + 18, 2);
	if (len > 512)
		return fail("PD_Length is %zu", len);
	if (!take(got, len, "private data"))
		return false;
	if (!check_number("rev", f[17]) || !check_flag(f[16], 0x80, "M") ||
	    !check_flag(f[16], 0x40, "C") || !check_flag(f[16], 0x20, "R") ||
	    !check_flag(f[16], 0x10, "S"))
		return false;
	if (f[16] & 0x10 && f[17] >= 2) {
		if (len < 4 || !check_enhanced(got))
			return len < 4 ? fail("S without enhanced data") : false;
		got += 4;
		len -= 4;
	}
	want = private_data(pd);
	if ((value("pd") || value("pdlen")) && (len != want || memcmp(got, pd, len)))
		return fail("other private data, %zu bytes", len);
	return true;
}

/* ---- FPDUs (RFC 5044 4), DDP (RFC 5041 4), RDMAP (RFC 5040 4) ---- */

static const char *const opcodes[] = {"write",	  "read",    "read-response", "send",
				      "send-inv", "send-se", "send-se-inv",   "terminate"};

static int opcode_of(const char *word)
{
	int i;

	for (i = 0; i < 8; i++)
		if (!strcmp(word, opcodes[i]))
			return i;
	return -1;
}

static bool is_tagged(int opcode)
{
	return opcode == 0 || opcode == 2;
}

static size_t put_payload(uint8_t *p, int opcode)
{
	size_t len = number("len", 0), i;

	if (opcode == 1) {
		put(p, 4, number("sink", 1));
		put(p + 4, 8, number("sink-to", 0));
		put(p + 12, 4, number("size", 0));
		put(p + 16, 4, number("stag", 1));
		put(p + 20, 8, number("to", 0));
		return 28;
	}
	if (opcode == 7) {
		put(p, 4, number("control", 0));
		return 4;
	}
	for (i = 0; i < len && i < BUF_MAX / 2; i++)
		p[i] = (uint8_t)(i + number("fill", 0));
	return i;
}

static size_t put_segment(uint8_t *p, int opcode)
{
	size_t len;

	p[0] = (uint8_t)((is_tagged(opcode) ? 0x80 : 0) | (has("more") ? 0 : 0x40) |
			 number("dv", 1));
	p[1] = (uint8_t)(number("rv", 1) << 6 | number("opcode", (uint64_t)opcode));
	put(p + 2, 4, opcode == 1 ? 0 : number("stag", is_tagged(opcode) ? 1 : 0));
	if (is_tagged(opcode)) {
		put(p + 6, 8, number("to", 0));
		len = 14;
	} else {
		put(p + 6, 4, number("qn", opcode == 7 ? 2 : opcode == 1));
		put(p + 10, 4, number("msn", 1));
		put(p + 14, 4, number("mo", 0));
		len = 18;
	}
	return len + put_payload(p + len, opcode);
}

/* The FPDU as it goes into the stream, by the letter of RFC 5044 4.3. */
static size_t put_marked(uint8_t *out, const uint8_t *f, size_t len, uint8_t **marker)
{
	size_t n = 0, i, head = run.tx_pos % 512 ? 0 : 4;

	for (i = 0; i < len; i++) {
		if (run.tx_markers && run.tx_pos % 512 == 0) {
			*marker = out + n;
			put(out + n, 4, n ? n - head : 0);
			n += 4;
			run.tx_pos += 4;
		}
		out[n++] = f[i];
		run.tx_pos++;
	}
	return n;
}

static bool say_fpdu(int opcode)
{
	static uint8_t f[BUF_MAX], out[BUF_MAX];
	uint8_t *marker = NULL;
	size_t len, n;

	memset(f, 0, sizeof(f));
	len = put_segment(f + 2, opcode);
	put(f, 2, number("length", len));
	len = (2 + len + 3) & ~(size_t)3;
	n = put_marked(out, f, len + 4, &marker);
	if (has("bad-marker") && !marker)
		return fail("no marker falls into it");
	if (has("bad-marker"))
		marker[2] ^= 0x10;
	put_crc(out + n - 4, run.crc ? crc32c_slowly(out, n - 4) : 0x12345678);
	if (has("bad-crc"))
		out[n - 1] ^= 1;
	return emit(out, (size_t)number("cut", n));
}

/* @len more bytes of an FPDU, to @f + *@have; the stream as it came to @raw. */
static bool take_fpdu(uint8_t *f, size_t *have, size_t len, uint8_t *raw, size_t *raw_len,
		      size_t head)
{
	for (; len--; ++*have) {
		if (run.rx_markers && run.rx_pos % 512 == 0) {
			if (!take(raw + *raw_len, 4, "a marker"))
				return false;
			if (get(raw + *raw_len, 4) != (*have ? *raw_len - head : 0))
				return fail("a marker that points elsewhere");
			*raw_len += 4;
			run.rx_pos += 4;
		}
		if (!take(f + *have, 1, "an FPDU"))
			return false;
		raw[(*raw_len)++] = f[*have];
		run.rx_pos++;
	}
	return true;
}

static bool check_segment(const uint8_t *p, size_t len, int opcode)
{
	size_t hdr = is_tagged(opcode) ? 14 : 18;

	if ((p[1] & 0x0f) != opcode)
		return fail("opcode %u, expected %s", p[1] & 0x0f, opcodes[opcode]);
	if (!!(p[0] & 0x80) != is_tagged(opcode) || (p[0] & 3) != 1 || p[1] >> 6 != 1)
		return fail("control fields 0x%02x%02x", p[0], p[1]);
	if (len < hdr)
		return fail("a ULPDU of %zu bytes", len);
	if (opcode == 7 && !check_number("control", get(p + 18, 2)))
		return false;
	if (!is_tagged(opcode) && !check_number("msn", get(p + 10, 4)))
		return false;
	return check_number("len", len - hdr);
}

static bool hear_fpdu(int opcode)
{
	static uint8_t f[66000], raw[67000];
	size_t head = run.rx_markers && run.rx_pos % 512 == 0 ? 4 : 0;
	size_t have = 0, raw_len = 0, len, end;
	uint8_t crc[4];

	if (!take_fpdu(f, &have, 2, raw, &raw_len, head))
		return false;
	len = (size_t)get(f, 2);
	end = (2 + len + 3) & ~(size_t)3;
	if (len < 14)
		return fail("a ULPDU of %zu bytes", len);
	if (!take_fpdu(f, &have, end + 2, raw, &raw_len, head))
		return false;
	put_crc(crc, crc32c_slowly(raw, raw_len - 4));
	if (run.crc && memcmp(crc, f + end, 4))
		return fail("a wrong CRC");
	return check_segment(f + 2, len, opcode);
}

/* ---- the end ---- */

/* FIN or RST; bytes before it are not looked at when @any. */
static bool hear_end(bool fin, bool rst, bool any)
{
	uint8_t b[512];
	int n;

	do {
		n = run.io->recv(b, sizeof(b), WAIT_MS);
	} while (n > 0 && any);
	if ((n == SCRIPT_FIN && fin) || (n == SCRIPT_RST && rst))
		return true;
	return fail("%s, expected %s",
		    n > 0	      ? "bytes"
		    : n == SCRIPT_FIN ? "FIN"
		    : n == SCRIPT_RST ? "RST"
				      : "silence",
		    fin ? (rst ? "an end" : "FIN") : "RST");
}

static bool hear_silence(int ms)
{
	uint8_t b;

	return run.io->recv(&b, 1, ms) == SCRIPT_NOTHING || fail("no silence");
}

/* ---- lines ---- */

static bool expect(void)
{
	const char *what = run.nwords > 1 ? run.words[1] : "";

	if (!strcmp(what, "request") || !strcmp(what, "reply"))
		return hear_frame(what[2] == 'p');
	if (!strcmp(what, "fin") || !strcmp(what, "rst"))
		return hear_end(what[0] == 'f', what[0] == 'r', false);
	if (!strcmp(what, "end"))
		return hear_end(true, true, true);
	if (!strcmp(what, "silence"))
		return hear_silence((int)word_number(2));
	if (opcode_of(what) >= 0)
		return hear_fpdu(opcode_of(what));
	return fail("expect what?");
}

static bool say_raw(void)
{
	uint8_t b[BUF_MAX];
	size_t len = 0;
	const char *p;
	int i;

	for (i = 1; i < run.nwords; i++)
		for (p = run.words[i]; p[0] && p[1]; p += 2) {
			char two[3] = {p[0], p[1], 0};

			b[len++] = (uint8_t)strtoul(two, NULL, 16);
		}
	return emit(b, len);
}

/* How what follows is sent and read. */
static bool setting(const char *word)
{
	if (!strcmp(word, "piece")) {
		run.piece = (size_t)word_number(1);
		run.pause_ms = (int)word_number(2);
	} else if (!strcmp(word, "hold")) {
		run.hold = true;
	} else if (!strcmp(word, "fpdus")) {
		run.crc = has("crc");
		run.tx_markers = has("send-markers");
		run.rx_markers = has("markers");
	} else {
		return false;
	}
	return true;
}

static bool line_run(void)
{
	const char *word = run.words[0];

	if (setting(word) || !strcmp(word, "driver") || !strcmp(word, "event"))
		return true;
	if (!strcmp(word, "connect") || !strcmp(word, "listen"))
		return run.io->begin(word[0] == 'l') || fail("no TCP connection");
	if (!strcmp(word, "request") || !strcmp(word, "reply"))
		return say_frame(word[2] == 'p');
	if (!strcmp(word, "expect"))
		return expect();
	if (!strcmp(word, "raw"))
		return say_raw();
	if (opcode_of(word) >= 0)
		return say_fpdu(opcode_of(word));
	if (!strcmp(word, "go")) {
		run.hold = false;
		return send_out();
	}
	if (!strcmp(word, "sleep"))
		run.io->sleep((int)word_number(1));
	else if (!strcmp(word, "fin"))
		run.io->fin();
	else if (!strcmp(word, "rst"))
		run.io->rst();
	else
		return fail("what is \"%s\"?", word);
	return true;
}

static void split(char *line)
{
	char *word;

	line[strcspn(line, "#\n")] = 0;
	run.nwords = 0;
	for (word = strtok(line, " \t"); word && run.nwords < WORDS_MAX; word = strtok(NULL, " \t"))
		run.words[run.nwords++] = word;
}

bool script_run(const char *path, const struct script_io *io, char *why, size_t len)
{
	FILE *file = fopen(path, "r");
	char line[512], said[256];
	int number = 0;
	bool ok = true;

	memset(&run, 0, sizeof(run));
	run.io = io;
	run.crc = true;
	run.why = said;
	run.why_len = sizeof(said);
	if (!file) {
		snprintf(why, len, "%s cannot be read", path);
		return false;
	}
	while (ok && fgets(line, sizeof(line), file)) {
		number++;
		split(line);
		ok = !run.nwords || line_run();
	}
	fclose(file);
	if (!ok)
		snprintf(why, len, "%s:%d: %s", path, number, said);
	return ok;
}

long script_driver(const char *path, const char *key)
{
	FILE *file = fopen(path, "r");
	char line[512];
	long found = -1;

	while (file && fgets(line, sizeof(line), file)) {
		split(line);
		if (run.nwords && !strcmp(run.words[0], "driver") && value(key))
			found = strtol(value(key), NULL, 0);
	}
	if (file)
		fclose(file);
	return found;
}
