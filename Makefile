# SPDX-License-Identifier: Apache-2.0
#
# The whole build, one file and not recursive. The sources lie in rooms (ROOMS, below). A file is found by where it lies:
#
#   ROOM/*.c, and its folders but tests     code of that room: liblocus (topo, placement) or the programs
#   ROOM/tests/*_test.c                     Criterion tests, one binary for each room: build/VARIANT/ROOM/tests/unit
#   ROOM/tests/*_{stress,litmus,scenario}.c one plain program each
#   ROOM/tests/*_inject.c                   a library to preload
#   ROOM/tests/*_fuzz.c                     a libFuzzer program, of clang with ASan only
#   tests/*.sh, at any depth                run as it is by testbed/tests/suite.sh
#
# A room's README.md names in its line "Uses:" the rooms whose headers it may include. What a room's tests link is that room and
# those that it uses, and theirs, so a call upwards does not link; `make layers` checks the includes. A variant (compiler and
# sanitizer) has a build directory of its own, and none disturbs another:
#
#   make                          build/gcc          make CC=clang SAN=thread       build/clang-tsan
#   make SAN=address,undefined    build/gcc-asan     make CC=clang SAN=address,undefined   build/clang-asan

VERSION   := $(shell sed -n 's/^\#define LOCUS_VERSION "\(.*\)"$$/\1/p' placement/base/version.h)
SOVERSION := $(basename $(VERSION))
LAYERS    := topo placement testbed
PREFIX    ?= /usr/local
LIBDIR    ?= $(PREFIX)/lib
SOAK_SECONDS ?= 600

ifeq ($(origin CC),default)
CC := gcc
endif
SAN ?=

# All cores, unless the caller said otherwise (-jN) or is a make that did.
ifeq ($(MAKELEVEL)$(filter -j% --jobserver%,$(MAKEFLAGS)),0)
MAKEFLAGS += -j$(shell nproc 2>/dev/null || echo 1)
endif
MAKEFLAGS += --no-builtin-rules --no-print-directory

# From the bottom up. No room uses one after it.
ROOMS := topo $(addprefix placement/,base memory blocks domain) \
         $(addprefix testbed/,stats base doc counters host workload measure contenders matrix) \
         $(addprefix testbed/,record postulate judge run report cli)

kind := $(if $(findstring address,$(SAN)),-asan,$(if $(findstring thread,$(SAN)),-tsan))
kind := $(if $(kind),$(kind),$(addprefix -,$(SAN)))
B    := build/$(notdir $(lastword $(CC)))$(kind)
fuzz := $(filter clang-asan,$(notdir $(B)))

# Flags. `override`, so that `make CFLAGS=-O3` adds to these instead of replacing them.
CFLAGS  ?= -O2
override CFLAGS += -std=c11 -g -pthread -Wall -Wextra -Werror -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -fno-common
override CPPFLAGS += -D_GNU_SOURCE -I. $(addprefix -iquote ,$(filter topo placement/%,$(ROOMS))) # public headers are installed flat
override LDFLAGS += -pthread -Wl,--as-needed
ifeq ($(SAN),)
override CPPFLAGS += -DNDEBUG
else
override CFLAGS  += -O1 -fno-omit-frame-pointer -fno-sanitize-recover=all -fsanitize=$(SAN)
override LDFLAGS += -fsanitize=$(SAN)
endif

# DPDK's pools are contenders where libdpdk-dev is installed. Archives, because its shared EAL would load two hundred drivers; the
# pools' drivers register themselves, so they are linked whole. DPDK= leaves it out.
PKG_CONFIG ?= $(firstword $(patsubst %-gcc,%-pkg-config,$(filter %-gcc,$(notdir $(lastword $(CC))))) pkg-config)
DPDK       ?= $(if $(SAN),,$(wildcard $(shell $(PKG_CONFIG) --variable=libdir libdpdk 2>/dev/null)/librte_eal.a))
ifneq ($(DPDK),)
dpdk_flags  := -DTB_DPDK $(patsubst -I%,-isystem %,$(shell $(PKG_CONFIG) --cflags libdpdk)) -std=gnu11
dpdk_drivers := $(addprefix $(dir $(DPDK))librte_mempool_,ring.a stack.a)
dpdk_needs  := $(wildcard $(addprefix $(dir $(DPDK))librte_,mempool.a stack.a ring.a eal.a telemetry.a kvargs.a log.a argparse.a))
dpdk_libs   := -Wl,--whole-archive $(dpdk_drivers) -Wl,--no-whole-archive -Wl,--start-group $(dpdk_needs) -Wl,--end-group \
               $(filter -lbsd -lfdt -lnuma -ldl -lm,$(shell $(PKG_CONFIG) --static --libs-only-l libdpdk))
endif

# What each layer needs of the system. A room's tests are linked with these and no more.
topo_libs        := -lhwloc -lnuma
placement_libs   := $(topo_libs)
testbed_libs     := $(placement_libs) -ljansson -lyaml -lcrypto -luring -lpfm -ldl -lm

# Objects: ROOM_own is the room, ROOM_all also what it may call. main.o and lap_main.o have a main() each and are in neither. A room
# may use those before it, so each ROOM_all is known when it is asked for.
own = $(patsubst %.c,$(B)/%.o,$(sort $(wildcard $(1)/*.c) $(filter-out $(1)/tests/%,$(wildcard $(1)/*/*.c))))
uses = $(shell sed -n 's/^Uses: *//p' $(1)/README.md)
$(foreach r,$(ROOMS),$(eval $(r)_own := $(call own,$(r)))\
    $(eval $(r)_all := $(sort $($(r)_own) $(foreach u,$(call uses,$(r)),$($(u)_all))))\
    $(eval $(r)_libs := $($(firstword $(subst /, ,$(r)))_libs) $(if $(filter $(B)/testbed/contenders/%,$($(r)_all)),$(dpdk_libs))))
everything := $(foreach r,$(ROOMS),$($(r)_own))

lib_objects := $(foreach r,$(filter topo placement/%,$(ROOMS)),$($(r)_own))
public      := $(addprefix placement/,base/cpu_relax.h base/version.h $(addprefix memory/,policy.h region.h region_verify.h) \
                 $(addprefix blocks/,block.h mailbox.h owner.h pool.h pool_report.h table.h) \
                 $(addprefix domain/,domain.h domain_health.h locus.h)) topo/topo.h topo/pin.h
static_lib  := $(B)/liblocus.a
soname      := liblocus.so.$(SOVERSION)
shared_lib  := $(B)/liblocus.so.$(VERSION)

# The same with the rules compiled in (placement/base/rules.h), where CHECKED=1 asks for it.
CHECKED         ?=
checked_objects := $(patsubst $(B)/%,$(B)/checked/%,$(lib_objects))
checked_libs    := $(if $(CHECKED),$(B)/liblocus-checked.a $(B)/liblocus-checked.so.$(VERSION))
program     := $(if $(wildcard testbed/main.c),$(B)/locus)
lap         := $(if $(program),$(B)/locus-lap)

quiet = $(if $(V),,@printf '  %-5s %s\n' $(1) $@;)

.PHONY: all tests run check test test-all test-fleet test-report test-arm64 logging-effect soak bench peers deps \
        deps-check deps-test layers tidy syntax libs format format-check install install-share uninstall list clean help FORCE
.DELETE_ON_ERROR:
.SECONDARY:

all: ## liblocus.a, liblocus.so and the programs (SAN= CC= CFLAGS= V=1)
all: $(if $(SAN),,$(static_lib) $(shared_lib) $(checked_libs)) $(program) $(lap)

# --- objects, library, programs ------------------------------------------------------------------------------------------------

$(lib_objects) $(checked_objects): override CFLAGS += -fPIC -fno-semantic-interposition
$(checked_objects): override CPPFLAGS += -DLOCUS_CHECKED

define compile
@mkdir -p $(@D)
$(call quiet,CC)$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<
endef
$(B)/%.o: %.c Makefile
	$(compile)
$(B)/checked/%.o: %.c Makefile
	$(compile)

# The commit goes into every log. The stamp changes when it does, and only then is anything compiled anew.
commit := $(shell git rev-parse HEAD 2>/dev/null)$(shell git diff --quiet HEAD 2>/dev/null || echo -dirty)
$(B)/commit: FORCE
	@mkdir -p $(@D)
	@echo '$(commit)' | cmp -s - $@ || echo '$(commit)' >$@
$(B)/testbed/host/environment.o: $(B)/commit
$(B)/testbed/host/environment.o: override CPPFLAGS += -DLOCUS_COMMIT='"$(commit)"' -DLOCUS_CFLAGS='"$(CC) $(CFLAGS)"'

# The page's frame and style are taken in by the assembler, which no compiler writes down.
$(B)/testbed/report/page/files.o: $(addprefix testbed/report/page/,page.html style.css)

# Contenders that need a header of another package are empty without it. The compiler does not write down what it looked for in
# vain, so the stamp says which are there, and what depends on it is compiled anew when one is installed or removed.
optional := $(foreach header,urcu/lfstack.h urcu/wfcqueue.h ck_stack.h,\
    $(shell echo '\#include <$(header)>' | $(CC) -E -x c -o /dev/null - 2>/dev/null && echo $(header)))
$(B)/optional: FORCE
	@mkdir -p $(@D)
	@echo '$(optional)' | cmp -s - $@ || echo '$(optional)' >$@
$(addprefix $(B)/testbed/contenders/,locus_urcu.o locus_ck.o): $(B)/optional
# liburcu's push names the member of an empty stack's head: an address of nothing, which it never follows.
$(B)/testbed/contenders/locus_urcu.o: override CFLAGS += $(if $(findstring undefined,$(SAN)),-fno-sanitize=null)

# The same for DPDK, which may be installed after a build.
$(B)/dpdk: FORCE
	@mkdir -p $(@D)
	@echo '$(dpdk_flags)' | cmp -s - $@ || echo '$(dpdk_flags)' >$@
dpdk := $(B)/testbed/contenders/dpdk.o
dpdk_names := $(dpdk:.o=_names.o)
$(dpdk) $(dpdk_names): $(B)/dpdk
$(dpdk): override CFLAGS += $(dpdk_flags)
$(dpdk_names): override CPPFLAGS += $(if $(dpdk_flags),-DTB_DPDK -DTB_DPDK_NAMES)
$(dpdk_names): testbed/contenders/dpdk.c Makefile
	$(compile)

# Whatever does not begin with locus_ stays inside, in the archive as well: one object, its other names made local.
define archive
$(call quiet,AR)$(CC) -r -nostdlib -o $(@:.a=.o) $^ && objcopy -w --keep-global-symbol='locus_*' $(@:.a=.o) && \
    rm -f $@ && ar crs $@ $(@:.a=.o)
endef
$(static_lib): $(lib_objects)
	$(archive)
$(B)/liblocus-checked.a: $(checked_objects)
	$(archive)

$(B)/liblocus.map: Makefile
	@mkdir -p $(@D)
	@echo 'LOCUS_$(SOVERSION) { global: locus_*; local: *; };' >$@

# $(1): liblocus or liblocus-checked
define shared
$(call quiet,LD)$(CC) $(LDFLAGS) -shared -Wl,-z,defs -Wl,-soname,$(1).so.$(SOVERSION) -Wl,--version-script,$(B)/liblocus.map \
    -o $@ $(filter %.o,$^) $(placement_libs)
@ln -sf $(notdir $@) $(B)/$(1).so.$(SOVERSION) && ln -sf $(1).so.$(SOVERSION) $(B)/$(1).so
endef
$(shared_lib): $(lib_objects) $(B)/liblocus.map
	$(call shared,liblocus)
$(B)/liblocus-checked.so.$(VERSION): $(checked_objects) $(B)/liblocus.map
	$(call shared,liblocus-checked)

# Contenders are found through a linker section: an archive would drop them, so these objects are linked directly.
# Whoever asks for locus gets what it measures with, too.
$(B)/locus: $(B)/testbed/main.o $(patsubst $(dpdk),$(dpdk_names),$(everything)) | $(lap)
	$(call quiet,LD)$(CC) $(LDFLAGS) -o $@ $^ $(testbed_libs)

# The measured process: the contenders, and of what they may use only what is called. It is given no library for JSON, YAML, hashes
# or the like, so that none can come in unnoticed.
$(B)/testbed/lap.a: $(filter-out $(testbed/contenders_own),$(testbed/contenders_all))
	$(call quiet,AR)rm -f $@ && ar crsT $@ $^
$(lap): $(B)/testbed/lap_main.o $(testbed/contenders_own) $(B)/testbed/lap.a
	$(call quiet,LD)$(CC) $(LDFLAGS) -o $@ $^ $(placement_libs) -ldl -lm $(dpdk_libs)

# --- tests ---------------------------------------------------------------------------------------------------------------------

test_sources = $(sort $(foreach pattern,$(2),$(wildcard $(1)/tests/*_$(pattern).c)))

# $(1): a room. The order of what it defines: units, plain programs, preloaded libraries, fuzzers.
define test_rules
$(1)_units   := $(patsubst %.c,$(B)/%.o,$(call test_sources,$(1),test))
$(1)_unit    := $$(if $$($(1)_units),$(B)/$(1)/tests/unit)
$(1)_plain   := $(patsubst %.c,$(B)/%,$(call test_sources,$(1),stress litmus scenario))
$(1)_preload := $(patsubst %.c,$(B)/%.so,$(call test_sources,$(1),inject))
$(1)_fuzz    := $(patsubst %.c,$(B)/%,$(call test_sources,$(1),fuzz))

$$($(1)_units) $$($(1)_plain:=.o): override CPPFLAGS += -UNDEBUG
$$($(1)_units): override CFLAGS += -O0 # they run for microseconds, and optimizing them was a third of the build

$(B)/$(1)/tests/unit: $$($(1)_units) $(B)/topo/tests/no_certificates.o $($(1)_all)
	$$(call quiet,LD)$$(CC) $$(LDFLAGS) -Wl,--export-dynamic-symbol='mbedtls_x509_crt_parse_*' -o $$@ $$^ $($(1)_libs) -lcriterion

$$($(1)_plain): %: %.o $($(1)_all)
	$$(call quiet,LD)$$(CC) $$(LDFLAGS) -o $$@ $$^ $($(1)_libs)

$$($(1)_preload): %.so: %.o
	$$(call quiet,LD)$$(CC) $$(LDFLAGS) -shared -o $$@ $$^ -ldl
$$($(1)_preload:.so=.o): override CFLAGS += -fPIC

$$($(1)_fuzz): %: %.o $($(1)_all)
	$$(call quiet,LD)$$(CC) $$(LDFLAGS) -fsanitize=fuzzer -o $$@ $$^ $($(1)_libs)
endef
$(foreach r,$(ROOMS),$(eval $(call test_rules,$(r))))

# The witness that QEMU loads (testbed/guest/plugin): no header of QEMU is needed. v1 is for QEMU 7.2.
plugins := $(addprefix $(B)/testbed/guest/plugin/,stores.so stores-v1.so)
$(plugins): testbed/guest/plugin/stores.c Makefile
	@mkdir -p $(@D)
	$(call quiet,LD)$(CC) $(CPPFLAGS) $(filter-out -fsanitize%,$(CFLAGS)) -fPIC -fvisibility=hidden -shared -o $@ $<
$(B)/testbed/guest/plugin/stores-v1.so: override CPPFLAGS += -DSTORES_PLUGIN_VERSION=1

each = $(foreach r,$(ROOMS),$($(r)_$(1)))

# The parsers that are fuzzed, by name, wherever they lie: libFuzzer finds its way by the branches of these.
fuzzed := $(if $(fuzz),$(shell find $(LAYERS) -name '*_fuzz.c' -o -name cpulist.c -o -name 'trace*.c' -o -name 'postulate*.c'))
$(fuzzed:%.c=$(B)/%.o): override CFLAGS += -fsanitize=fuzzer-no-link

# Criterion does not start under ThreadSanitizer (Snaipe/Criterion#274).
unit_programs := $(if $(filter -tsan,$(kind)),,$(call each,unit))

tests: ## the test programs of this variant
preloads := $(if $(SAN),,$(call each,preload) $(plugins))
tests: $(unit_programs) $(call each,plain) $(preloads) $(if $(fuzz),$(call each,fuzz))

# --- what people call ----------------------------------------------------------------------------------------------------------

run: deps ## the main job: this machine, a scoreboard, a replay; results in build/run (TRACE=file)
	@$(MAKE) all
	@LOCUS=$(B)/locus TRACE='$(TRACE)' OUT=build/run sh testbed/run.sh

check: deps-check ## for every save: one build, its unit tests, layers, tidy (90 s)
	@bash testbed/tests/suite.sh check

test: deps-test ## before a commit: sanitizers, races, faults, fuzzing, the command line, one emulated machine (10 minutes)
	@bash testbed/tests/suite.sh test

test-all: deps-test ## all else as well: mutants, every emulated machine, fleets, Slurm, power cuts, browser, arm64 (an hour)
	@bash testbed/tests/suite.sh all

test-fleet: deps-test ## the playbooks over fake hosts on this machine (as root; five minutes)
	@ONLY=ansible/ bash testbed/tests/suite.sh all

test-report: ## the report in a headless browser: figures, console, screenshots (installs chromium)
	@sh .ci/deps.sh report
	@$(MAKE) all $(B)/testbed/judge/tests/record_scenario
	@LOCUS=$(B)/locus bash testbed/tests/browser/report.sh

test-arm64: ## the tests on aarch64, cross-built and emulated (needs gcc-aarch64-linux-gnu; ten minutes)
	@bash testbed/tests/arm64/arm64.sh

logging-effect: all ## does writing the log change what is measured? an equivalence test, 2 %
	@$(MAKE) $(B)/testbed/cli/tests/logging_effect_scenario
	@LOCUS_LAP=$(B)/locus-lap $(B)/testbed/cli/tests/logging_effect_scenario

soak: deps-test ## test-all, with SOAK_SECONDS for each program
	@STRESS_SECONDS=$(SOAK_SECONDS) FUZZ_SECONDS=$(SOAK_SECONDS) LITMUS_RUNS=10000 bash testbed/tests/suite.sh all

bench: all ## nanoseconds for each operation, against malloc
	@$(B)/locus bench

peers: ## fetch newer mallocs to compare with, unpacked in build/peers and not installed (20 MB)
	@sh testbed/measure/peers.sh

deps: ## install what the build and `make run` need (Debian, Ubuntu)
	@sh .ci/deps.sh build

deps-test: ## install what `make test` needs besides
	@sh .ci/deps.sh test

deps-check: ## install what `make check` needs besides
	@sh .ci/deps.sh check

syntax: ## what another compiler has to say of the sources, without compiling them: make CC=clang syntax
	@$(CC) $(CPPFLAGS) $(CFLAGS) $(dpdk_flags) -fsyntax-only $(patsubst $(B)/%.o,%.c,$(everything)) testbed/main.c

libs: # for scripts that link themselves
	@echo '$(testbed_libs)'

layers: ## no room includes a header of a room that it may not use
	@sh .ci/layers.sh "$(ROOMS)" $(public)

tidy: ## sizes of functions and files, widths, names at the top level
	@sh .ci/tidy.sh $(public)

sources = $(shell find $(LAYERS) -name '*.[ch]')
format: ## clang-format, trailing comments stay where they are
	@bash .ci/format.sh $(sources)

format-check: ## show what `make format` would change
	@bash .ci/format.sh --check $(sources)

installed := liblocus $(if $(CHECKED),liblocus-checked)

# $(1): liblocus or liblocus-checked
define install_library
install -m 644 $(B)/$(1).a $(B)/$(1).so.$(VERSION) $(DESTDIR)$(LIBDIR)
ln -sf $(1).so.$(VERSION) $(DESTDIR)$(LIBDIR)/$(1).so.$(SOVERSION)
ln -sf $(1).so.$(SOVERSION) $(DESTDIR)$(LIBDIR)/$(1).so
@printf '%s\n' 'prefix=$(PREFIX)' 'libdir=$(LIBDIR:$(PREFIX)/%=$${prefix}/%)' 'includedir=$${prefix}/include' '' \
    'Name: $(1:lib%=%)' \
    'Description: KV-cache blocks that go home to the node that owns them$(if $(findstring checked,$(1)), (aborts at misuse))' \
    'Version: $(VERSION)' 'Cflags: -I$${includedir}' 'Libs: -L$${libdir} -l$(1:lib%=%)' \
    'Libs.private: $(placement_libs) -pthread' >$(DESTDIR)$(LIBDIR)/pkgconfig/$(1:lib%=%).pc

endef

install: all install-share ## PREFIX=/usr/local LIBDIR=PREFIX/lib DESTDIR= CHECKED=1 (liblocus-checked as well)
	install -d $(DESTDIR)$(PREFIX)/include/locus $(DESTDIR)$(LIBDIR)/pkgconfig $(DESTDIR)$(PREFIX)/bin
	install -m 644 $(public) $(DESTDIR)$(PREFIX)/include/locus
	$(foreach library,$(installed),$(call install_library,$(library)))
	$(if $(program),install $(program) $(DESTDIR)$(PREFIX)/bin)
	$(if $(lap),install -D -t $(DESTDIR)$(libexec) $(lap))
	$(if $(program),$(install_manual))

# Both are made of what the program says of itself, so one for another architecture has none.
man1       := $(PREFIX)/share/man/man1
completion := $(PREFIX)/share/bash-completion/completions
define install_manual
install -d $(DESTDIR)$(man1) $(DESTDIR)$(completion)
if $(program) --version >/dev/null 2>&1; then sh testbed/cli/manual.sh man $(program) >$(DESTDIR)$(man1)/locus.1 && \
    sh testbed/cli/manual.sh completion $(program) >$(DESTDIR)$(completion)/locus; \
    else echo 'locus(1) and its completion are left out: $(program) does not run on this machine'; fi
endef

# What the program needs beside itself (testbed/base/share.h). locus-lap is nobody's command, so it is not in bin.
share   := $(PREFIX)/share/locus
libexec := $(PREFIX)/libexec/locus
install-share:
	install -d $(addprefix $(DESTDIR)$(share)/,guest/plugin examples postulate workload)
	install -m 644 LICENSE $(DESTDIR)$(share)
	install -m 644 testbed/workload/sample.csv $(DESTDIR)$(share)/workload
	install -m 644 testbed/postulate/TEMPLATE.md $(DESTDIR)$(share)/postulate
	install -m 644 $(wildcard testbed/guest/*.sh) testbed/guest/README.md $(DESTDIR)$(share)/guest
	install -m 644 $(wildcard testbed/guest/plugin/*) $(DESTDIR)$(share)/guest/plugin
	install -m 644 $(wildcard placement/examples/*.*) $(DESTDIR)$(share)/examples

uninstall: ## takes away what install put there, checked or not
	rm -f $(addprefix $(DESTDIR)$(PREFIX)/include/locus/,$(notdir $(public))) $(DESTDIR)$(PREFIX)/bin/locus
	rm -f $(DESTDIR)$(man1)/locus.1 $(DESTDIR)$(completion)/locus
	rm -f $(foreach name,locus locus-checked,$(DESTDIR)$(LIBDIR)/pkgconfig/$(name).pc $(addprefix \
	    $(DESTDIR)$(LIBDIR)/lib$(name),.a .so .so.$(SOVERSION) .so.$(VERSION)))
	rm -rf $(DESTDIR)$(share) $(DESTDIR)$(libexec)
	-rmdir $(DESTDIR)$(PREFIX)/include/locus 2>/dev/null

list: ## the test programs and scripts, one per line
	@printf '%s\n' $(patsubst $(B)/%,%,$(call each,unit) $(call each,plain) $(call each,preload) $(call each,fuzz)) \
	    $(filter-out %/suite.sh %/item.sh,$(sort $(shell find $(LAYERS) ansible -path '*/tests/*.sh' ! -path '*/tests/*/*')))

clean: ## remove build/
	rm -rf build

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

-include $(shell find $(B) -name '*.d' 2>/dev/null)
