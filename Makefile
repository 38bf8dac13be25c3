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
VM ?= 1
RIG ?= two
# lab-up: more arguments for `tools/lab/lab up`, as --wire dgram or --mtu 9000
LAB_ARGS ?=
LEVELS_NATIVE := unit device wire fuzz

.DEFAULT_GOAL := all
MAKEFLAGS += --no-print-directory

.PHONY: all modules rnicd provider check check-native check-vm kernels lint bench demo docs fuzz
.PHONY: debug-kernel tree shell lab-up lab-down install modules_install clean help
.PHONY: $(addprefix check-,$(LEVELS_NATIVE))

all: modules rnicd provider ## build the kernel modules, rnicd and the provider

modules: ## build/modules/ornic.ko and iw_ornic.ko, for the kernel of the lab's guests
	@$(LAB)/modules

rnicd: ## build/rnicd/rnicd, the RNIC
	@$(IN_TREE) $(MAKE) -C tools/rnicd BUILD=$(BUILD)

provider: ## build/provider/libornic-rdmav*.so, the rdma-core provider
	@$(LAB)/provider

check: ## all tests: unit, device, wire, fuzz corpus, virtual machines
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

demo: ## two VMs with an RNIC each: ping, rping, bandwidths, latencies
	@$(LAB)/demo

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

# install is for this host: its rnicd is linked with the tree's libraries only if those are
# no newer than the host's, so it is built with the host's own compiler.
install: IN_TREE =
install: ## install rnicd on this host (DESTDIR, PREFIX)
	@$(MAKE) -C tools/rnicd BUILD=$(BUILD)/host
	install -D -m 755 $(BUILD)/host/rnicd/rnicd $(DESTDIR)$(PREFIX)/bin/rnicd

modules_install: ## build the modules for this host's running kernel and install them
	KERNEL_BUILD=$(or $(KERNEL_BUILD),/lib/modules/$(shell uname -r)/build) $(LAB)/modules
	$(MAKE) -C $(or $(KERNEL_BUILD),/lib/modules/$(shell uname -r)/build) \
		M=$(BUILD)/modules-host/src INSTALL_MOD_PATH=$(DESTDIR) \
		CONFIG_ORNIC=m CONFIG_INFINIBAND_ORNIC=m modules_install

clean: ## remove build/ (the cache stays)
	rm -rf $(BUILD)

help: ## this list
	@sed -n 's/^\([a-z_-]*\):.*## \(.*\)/  \1\t\2/p' $(TOP)/Makefile | expand -t 20
