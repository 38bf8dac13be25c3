# SPDX-License-Identifier: GPL-2.0-or-later
#
# OpenRNIC.  `make help` lists the targets.
#
# Everything is built and run in a Debian 13 tree that is made on first use in
# $ORNIC_CACHE (default ~/.cache/openrnic).  IN_TREE= (empty) uses this host's own tools
# for the native parts instead; the lab always needs the tree.

TOP := $(abspath $(dir $(lastword $(MAKEFILE_LIST))))
BUILD := $(TOP)/build
LAB := $(TOP)/tools/lab
IN_TREE ?= $(LAB)/in-tree
DESTDIR ?=
PREFIX ?= /usr
LIBDIR ?= $(PREFIX)/lib/$(shell uname -m)-linux-gnu
KERNEL_BUILD ?= /lib/modules/$(shell uname -r)/build
DKMS_SOURCE := /usr/src/openrnic-$(shell sed -n 's/^PACKAGE_VERSION="\(.*\)"/\1/p' dkms.conf)
VM ?= 1
RIG ?= two
# lab-up: more arguments for `tools/lab/lab up`, as --wire dgram or --mtu 9000
LAB_ARGS ?=
LEVELS_NATIVE := unit device wire fuzz package

.DEFAULT_GOAL := all
MAKEFLAGS += --no-print-directory

.PHONY: all modules rnicd provider check check-native check-vm kernels lint bench demo docs fuzz
.PHONY: soak demo-nfs debug-kernel tree shell lab-up lab-down clean help
.PHONY: install provider_install modules_install dkms_install
.PHONY: $(addprefix check-,$(LEVELS_NATIVE))

all: modules rnicd provider ## build the kernel modules, rnicd and the provider

modules: ## build/modules/ornic.ko and iw_ornic.ko, for the kernel of the lab's guests
	@$(LAB)/modules

rnicd: ## build/rnicd/rnicd, the RNIC
	@$(IN_TREE) $(MAKE) -C tools/rnicd BUILD=$(BUILD)

provider: ## build/provider/libornic-rdmav*.so, the rdma-core provider
	@$(LAB)/provider

check: ## all tests: unit, device, wire, fuzz corpus, installation, virtual machines
	@IN_TREE="$(IN_TREE)" tests/run $(LEVELS_NATIVE) vm

check-native: ## all tests that need no virtual machine
	@IN_TREE="$(IN_TREE)" tests/run $(LEVELS_NATIVE)

check-vm: ## the tests in virtual machines (CASES="..." runs only these)
	@IN_TREE="$(IN_TREE)" tests/run vm

$(addprefix check-,$(LEVELS_NATIVE)): check-%: ## one level of tests
	@IN_TREE="$(IN_TREE)" tests/run $*

fuzz: ## the libFuzzer targets, FUZZ_SECONDS (60) each
	@$(IN_TREE) $(MAKE) -C tests/fuzz fuzz BUILD=$(BUILD) FUZZ_SECONDS=$(or $(FUZZ_SECONDS),60)

lint: ## checkpatch, sparse, W=1, clang-format, shellcheck, function lengths
	@$(LAB)/lint

kernels: ## build the modules for Debian's 6.1, 6.12 and 7.x; no warning is allowed
	@$(LAB)/kernels

bench: ## benchmark; also writes build/bench.json
	@$(IN_TREE) tests/bench/run

soak: ## connections under everything that happens to them, for MINUTES (60)
	@$(IN_TREE) tests/soak/run --minutes $(or $(MINUTES),60)

demo: ## two VMs with an RNIC each: ping, rping, bandwidths, latencies
	@$(LAB)/demo

demo-nfs: ## two VMs, a file system of one mounted in the other over RDMA, figures, and a shell
	@$(LAB)/demo-nfs

docs: ## build/docs/html
	@$(IN_TREE) sphinx-build -q -b html Documentation $(BUILD)/docs/html
	@echo "build/docs/html/index.html"

tree: ## only make the Debian 13 tree, the guests' root and the images
	@$(LAB)/image > /dev/null

debug-kernel: ## build the debug kernel (half an hour); VM tests use it from then on
	@$(LAB)/debug-kernel

lab-up: ## boot a lab that stays (RIG=one or two, LAB_ARGS="--wire dgram ...")
	@$(LAB)/lab up $(RIG) $(LAB_ARGS)

shell: ## console in a running lab (VM=1 or 2)
	@$(LAB)/lab shell $(VM)

lab-down: ## end that lab
	@$(LAB)/lab down

# What is installed on this host is made by the host's own compiler: what the tree makes may need
# libraries that are newer than the host's.
install: IN_TREE =
install: ## install rnicd and rnicctl on this host (DESTDIR, PREFIX)
	@$(MAKE) -C tools/rnicd BUILD=$(BUILD)/host
	install -D -m 755 $(BUILD)/host/rnicd/rnicd $(DESTDIR)$(PREFIX)/bin/rnicd
	install -D -m 755 tools/rnicd/rnicctl $(DESTDIR)$(PREFIX)/bin/rnicctl

provider_install: provider ## install the provider, for Debian 13's rdma-core (DESTDIR, PREFIX, LIBDIR)
	install -d $(DESTDIR)$(LIBDIR)/libibverbs
	install -m 644 $(BUILD)/provider/libornic-rdmav*.so $(DESTDIR)$(LIBDIR)/libibverbs/
	install -D -m 644 $(BUILD)/provider/ornic.driver $(DESTDIR)/etc/libibverbs.d/ornic.driver

modules_install: ## build the modules for this host's kernel or KERNEL_BUILD, and install them
	KERNEL_BUILD=$(KERNEL_BUILD) $(LAB)/modules
	$(MAKE) -C $(KERNEL_BUILD) M=$(BUILD)/modules-host/src \
		INSTALL_MOD_PATH=$(or $(INSTALL_MOD_PATH),$(DESTDIR)) \
		CONFIG_ORNIC=m CONFIG_INFINIBAND_ORNIC=m modules_install

dkms_install: ## install the modules' source where dkms looks for it (DESTDIR)
	rm -rf $(DESTDIR)$(DKMS_SOURCE)
	install -d $(DESTDIR)$(DKMS_SOURCE)
	find Kbuild dkms.conf drivers include -type f \( -name 'K*' -o -name Makefile -o -name '*.[ch]' \
		-o -name dkms.conf \) ! -name '*.mod.c' \
		-exec install -D -m 644 {} $(DESTDIR)$(DKMS_SOURCE)/{} \;

clean: ## remove build/ (the cache stays)
	rm -rf $(BUILD)

help: ## this list
	@sed -n 's/^\([a-z_-]*\):.*## \(.*\)/  \1\t\2/p' $(TOP)/Makefile | expand -t 20
