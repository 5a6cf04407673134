# SPDX-License-Identifier: Apache-2.0
#
# The whole build in one file, not recursive. The sources are in rooms (ROOMS, below). A file's place says what it is:
#
#   ROOM/*.c, and folders except tests      code of that room: liblocus (topo, placement) or the programs
#   ROOM/tests/*_test.c                     Criterion tests, one binary for each room: build/VARIANT/ROOM/tests/unit
#   ROOM/tests/*_{stress,litmus,scenario}.c a plain program each
#   ROOM/tests/*_inject.c                   a library to preload
#   ROOM/tests/*_fuzz.c                     a libFuzzer program, only with clang and ASan
#   tests/*.sh, at any depth                a script for testbed/tests/suite.sh
#
# The line "Uses:" in a room's README.md names the rooms whose headers it may include. A room's tests link with that room, the
# rooms that it uses, and theirs, so an upward call does not link; `make layers` checks the includes. Each variant (compiler and
# sanitizer) has its own build directory:
#
#   make                          build/gcc          make CC=clang SAN=thread       build/clang-tsan
#   make SAN=address,undefined    build/gcc-asan     make CC=clang SAN=address,undefined   build/clang-asan

VERSION   := $(shell sed -n 's/^\#define LOCUS_VERSION "\(.*\)"$$/\1/p' placement/include/locus/version.h)
SOVERSION := $(basename $(VERSION))
LAYERS    := topo placement testbed
PREFIX    ?= /usr/local
LIBDIR    ?= $(PREFIX)/lib
SOAK_SECONDS ?= 600

ifeq ($(origin CC),default)
CC := gcc
endif
SAN ?=

# All cores, unless the caller, or the make that called this one, gave -jN.
ifeq ($(MAKELEVEL)$(filter -j% --jobserver%,$(MAKEFLAGS)),0)
MAKEFLAGS += -j$(shell nproc 2>/dev/null || echo 1)
endif
MAKEFLAGS += --no-builtin-rules --no-print-directory

# From the bottom up: no room uses a later one.
ROOMS := topo $(addprefix placement/,base evict memory tier pages adapter blocks sharing domain ggml) \
         $(addprefix testbed/,stats base doc counters host loops decode engine workload strategies serving measure contenders) \
         $(addprefix testbed/,pool matrix record postulate judge run report cli)

kind := $(if $(findstring address,$(SAN)),-asan,$(if $(findstring thread,$(SAN)),-tsan))
kind := $(if $(kind),$(kind),$(addprefix -,$(SAN)))
B    := build/$(notdir $(lastword $(CC)))$(kind)
fuzz := $(filter clang-asan,$(notdir $(B)))

# `override`, so that `make CFLAGS=-O3` adds to these flags instead of replacing them.
CFLAGS  ?= -O2
override CFLAGS += -std=c11 -g -pthread -Wall -Wextra -Werror -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -fno-common
library := $(filter-out placement/ggml,$(filter topo placement/%,$(ROOMS))) # the rooms of liblocus
# Public headers include each other by bare name, because they are installed in one folder; locus.h those of topo, too.
override CPPFLAGS += -D_GNU_SOURCE -I. -Iplacement/include -iquote topo
override LDFLAGS += -pthread -Wl,--as-needed
ifeq ($(SAN),)
override CPPFLAGS += -DNDEBUG
else
override CFLAGS  += -O1 -fno-omit-frame-pointer -fno-sanitize-recover=all -fsanitize=$(SAN)
override LDFLAGS += -fsanitize=$(SAN)
endif

# DPDK's pools are contenders if libdpdk-dev is installed. We link archives, because its shared EAL would load two hundred
# drivers, and link the pools' drivers whole, because they register themselves. DPDK= builds without it.
PKG_CONFIG ?= $(firstword $(patsubst %-gcc,%-pkg-config,$(filter %-gcc,$(notdir $(lastword $(CC))))) pkg-config)
DPDK       ?= $(if $(SAN),,$(wildcard $(shell $(PKG_CONFIG) --variable=libdir libdpdk 2>/dev/null)/librte_eal.a))
ifneq ($(DPDK),)
dpdk_flags  := -DTB_DPDK $(patsubst -I%,-isystem %,$(shell $(PKG_CONFIG) --cflags libdpdk)) -std=gnu11
dpdk_drivers := $(addprefix $(dir $(DPDK))librte_mempool_,ring.a stack.a)
dpdk_needs  := $(wildcard $(addprefix $(dir $(DPDK))librte_,mempool.a stack.a ring.a eal.a telemetry.a kvargs.a log.a argparse.a))
dpdk_libs   := -Wl,--whole-archive $(dpdk_drivers) -Wl,--no-whole-archive -Wl,--start-group $(dpdk_needs) -Wl,--end-group \
               $(filter -lbsd -lfdt -lnuma -ldl -lm,$(shell $(PKG_CONFIG) --static --libs-only-l libdpdk))
endif

# The backend for ggml, and the program that runs llama.cpp, are built where `make engine-fetch` has put llama.cpp's headers.
ENGINE      ?= build/engine$(if $(filter aarch64-%,$(notdir $(lastword $(CC)))),-arm64)
engine_here := $(wildcard $(ENGINE)/include/ggml-backend-impl.h)
engine_only := testbed/engine/llama/% \
    $(if $(engine_here),,$(addprefix placement/ggml/,buffer.c device.c engine.c group.c layout.c preload.c stream.c))

# The system libraries of each layer. A room's tests link only with these.
topo_libs        := -lhwloc -lnuma
placement_libs   := $(topo_libs) -luring -lzstd
testbed_libs     := $(placement_libs) -lz -ljansson -lyaml -lcrypto -lpfm -lmicrohttpd -ldl -lm

# Objects: ROOM_own is the room's, ROOM_all includes what it may call. main.o and *_main.o have a main() and are in neither. A
# room uses only earlier ones, so each ROOM_all is known when it is needed.
own = $(patsubst %.c,$(B)/%.o,$(sort $(filter-out %_main.c $(1)/tests/% $(engine_only),$(wildcard $(1)/*.c $(1)/*/*.c))))
uses = $(shell sed -n 's/^Uses: *//p' $(1)/README.md)
$(foreach r,$(ROOMS),$(eval $(r)_own := $(call own,$(r)))\
    $(eval $(r)_all := $(sort $($(r)_own) $(foreach u,$(call uses,$(r)),$($(u)_all))))\
    $(eval $(r)_libs := $($(firstword $(subst /, ,$(r)))_libs) $(if $(filter $(B)/testbed/contenders/%,$($(r)_all)),$(dpdk_libs))))
everything := $(foreach r,$(filter-out placement/ggml,$(ROOMS)),$($(r)_own))

lib_objects := $(foreach r,$(library),$($(r)_own))
public      := $(wildcard placement/include/locus/*.h) $(addprefix topo/,topo.h topo_node.h pin.h)
static_lib  := $(B)/liblocus.a
soname      := liblocus.so.$(SOVERSION)
shared_lib  := $(B)/liblocus.so.$(VERSION)
declarations := $(B)/locus-declarations.h

# With CHECKED=1, also the library with the rules compiled in (placement/base/rules.h).
CHECKED         ?=
checked_objects := $(patsubst $(B)/%,$(B)/checked/%,$(lib_objects))
checked_libs    := $(if $(CHECKED),$(B)/liblocus-checked.a $(B)/liblocus-checked.so.$(VERSION))
program     := $(if $(wildcard testbed/main.c),$(B)/locus)
lap         := $(if $(program),$(B)/locus-lap)
gguf        := $(if $(program),$(B)/locus-gguf)
counts      := $(if $(program),$(if $(SAN),,$(B)/locus-counts.so))
# clang's sanitizers are linked into programs, so a library of its build does not stand alone.
backend     := $(if $(engine_here),$(if $(findstring clang,$(B)),$(if $(SAN),,y),y))
backend     := $(if $(backend),$(addprefix $(B)/,libggml-locus.so liblocus-kv.so locus-llama))

quiet = $(if $(V),,@printf '  %-5s %s\n' $(1) $@;)

.PHONY: all tests run check test test-all test-fleet test-report test-arm64 logging-effect soak bench bench-sharing bench-copies \
        bench-blocks bench-lora bench-pages bench-tier bench-windows peers engine engine-fetch engine-upstream figures deps \
        deps-engine deps-check deps-test deps-all deps-deb deps-python deb wheel hf vllm layers tidy syntax libs native public \
        format format-check man install install-share uninstall list clean help FORCE
.DELETE_ON_ERROR:
.SECONDARY:

all: ## liblocus.a, liblocus.so and the programs (SAN= CC= CFLAGS= V=1)
all: $(if $(SAN),,$(static_lib) $(shared_lib) $(declarations) $(checked_libs)) $(program) $(lap) $(gguf) $(counts) $(backend)

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

# The commit goes into every log. The stamp changes with it, and only then are files recompiled. Logs and records are no part of
# what is built, and an official run changes them (run/official.h).
commit := $(shell git rev-parse HEAD 2>/dev/null)$(shell \
    git diff --quiet HEAD -- . ':!logs' ':!experiments/*.md' 2>/dev/null || echo -dirty)
$(B)/commit: FORCE
	@mkdir -p $(@D)
	@echo '$(commit)' | cmp -s - $@ || echo '$(commit)' >$@
$(B)/testbed/host/environment.o: $(B)/commit
$(B)/testbed/host/environment.o: override CPPFLAGS += -DLOCUS_COMMIT='"$(commit)"' -DLOCUS_CFLAGS='"$(CC) $(CFLAGS)"'

# The assembler includes the page's frame and style, and the programs for PyTorch. The compiler's dependency files do not list them.
$(B)/testbed/report/page/files.o: $(addprefix testbed/report/page/,page.html style.css)
$(B)/testbed/decode/acts/torch.o: testbed/decode/copies/torch_cat.py
$(B)/testbed/measure/engines/process.o: testbed/engine/hf_steps.py testbed/engine/vllm_turns.py

# Contenders that need another package's header are empty without it. Dependency files do not list missing headers, so this stamp
# lists those present, and the contenders are recompiled when a package is installed or removed.
hash := \#
optional := $(foreach header,urcu/lfstack.h urcu/wfcqueue.h ck_stack.h,\
    $(shell echo '$(hash)include <$(header)>' | $(CC) -E -x c -o /dev/null - 2>/dev/null && echo $(header)))
$(B)/optional: FORCE
	@mkdir -p $(@D)
	@echo '$(optional)' | cmp -s - $@ || echo '$(optional)' >$@
$(addprefix $(B)/testbed/contenders/,locus_urcu.o locus_ck.o): $(B)/optional
# liburcu's push takes the address of a member of a null head, which it never follows.
$(B)/testbed/contenders/locus_urcu.o: override CFLAGS += $(if $(findstring undefined,$(SAN)),-fno-sanitize=null)

# Where a loop of the attention kernels begins was worth up to a tenth of its pace, and changed with any code before it.
$(patsubst %.c,$(B)/%.o,$(wildcard testbed/decode/kernels/*.c)): override CFLAGS += -falign-loops=64

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

# Only names that begin with locus_ are exported, also from the archive: it is one object with all other names made local.
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

# For languages that read no C header.
$(declarations): placement/include/declarations.pl $(public) Makefile
	@mkdir -p $(@D)
	$(call quiet,GEN)perl $< $(CC) $(CPPFLAGS) >$@

# The manual pages of the library are made of its headers, those of the program, and the shells' completions, of what it says of
# itself. So a build for another architecture has only the first.
man := $(B)/man/.made
$(man): $(wildcard placement/include/*.* placement/examples/*.c testbed/cli/*.pl testbed/cli/*.sh) $(public) $(program)
	$(call quiet,MAN)rm -rf $(@D) $(B)/completion && perl placement/include/manual.pl $(@D) $(public)
	@mkdir -p $(B)/completion
	@if $(or $(program),false) --version >/dev/null 2>&1; then perl testbed/cli/manual.pl $(@D) $(program) && \
	    for shell in bash zsh fish; do sh testbed/cli/completion.sh $$shell $(program) >$(B)/completion/$$shell || exit; done; \
	    else echo '$(program) does not run on this machine: its manual pages and completions are left out'; fi
	@touch $@

# Contenders are found through a linker section. An archive would drop them, so their objects are linked directly. Building locus
# also builds locus-lap.
$(B)/locus: $(B)/testbed/main.o $(patsubst $(dpdk),$(dpdk_names),$(everything)) | $(lap)
	$(call quiet,LD)$(CC) $(LDFLAGS) -o $@ $^ $(testbed_libs)

# The measured process: contenders, strategies and policies, and only the functions that they call. It is not linked with
# libraries for JSON, YAML or hashes, so that none can come in unnoticed.
lap_found := $(testbed/contenders_own) $(testbed/strategies_own) $(placement/evict_own) \
             $(filter $(B)/placement/pages/scores/% $(B)/testbed/workload/cache/evict_% $(B)/testbed/serving/arena/score_%,\
                 $(placement/pages_own) $(testbed/workload_own) $(testbed/serving_own))
$(B)/testbed/lap.a: $(filter-out $(lap_found),$(testbed/contenders_all))
	$(call quiet,AR)rm -f $@ && ar crsT $@ $^
$(lap): $(B)/testbed/measure/lap_main.o $(lap_found) $(B)/testbed/lap.a
	$(call quiet,LD)$(CC) $(LDFLAGS) -o $@ $^ $(placement_libs) -ldl -lm $(dpdk_libs)

# Makes models for llama.cpp. It is not installed.
$(gguf): $(addprefix $(B)/testbed/,engine/gguf_main.o engine/gguf.o engine/model.o decode/shape.o) $(testbed/base_all)
	$(call quiet,LD)$(CC) $(LDFLAGS) -o $@ $^ $(testbed_libs)

# ggml's own headers are not written for our warnings. The backend is not linked with ggml (placement/ggml/engine.h).
ggml_headers := -isystem $(ENGINE)/include
ggml_objects := $(placement/ggml_own)
$(ggml_objects): override CFLAGS += -fPIC
$(filter-out %/bell.o %/place.o,$(ggml_objects)): override CPPFLAGS += $(ggml_headers)
$(B)/libggml-locus.map: exported := ggml_backend_init
$(B)/liblocus-kv.map: exported := ggml_backend_alloc_ctx_tensors_from_buft
$(B)/libggml-locus.map $(B)/liblocus-kv.map: Makefile
	@mkdir -p $(@D)
	@echo '{ global: $(exported); local: *; };' >$@
# $(1): files of placement/ggml. What waits in tiers is not theirs.
ggml_parts = $(patsubst %,$(B)/placement/ggml/%.o,$(1)) \
             $(filter-out $(placement/tier_own) $(placement/adapter_own) %/sharing/offload.o,$(lib_objects))
# clang leaves a sanitizer's own symbols to the program that loads the library.
define plugin
$(call quiet,LD)$(CC) $(LDFLAGS) -shared $(if $(SAN),,-Wl,-z,defs) -Wl,--version-script,$(filter %.map,$^) \
    -o $@ $(filter %.o,$^) $(placement_libs) -ldl
endef
$(B)/libggml-locus.so: $(call ggml_parts,bell buffer device engine group layout place stream) $(B)/libggml-locus.map
	$(plugin)
$(B)/liblocus-kv.so: $(call ggml_parts,buffer engine layout place preload) $(B)/liblocus-kv.map
	$(plugin)

# The engine's calls for buffers come to this program first (engine/llama/regions.h). It finds the engine beside its own folder.
llama_objects := $(patsubst %.c,$(B)/%.o,$(wildcard testbed/engine/llama/*.c))
$(llama_objects): override CPPFLAGS += $(ggml_headers)
$(B)/locus-llama: $(llama_objects)
	$(call quiet,LD)$(CC) $(LDFLAGS) -Wl,--export-dynamic-symbol=ggml_backend_alloc_ctx_tensors_from_buft -o $@ $^ \
	    -L$(ENGINE)/lib -Wl,-rpath-link,$(ENGINE)/lib -Wl,-rpath,'$$ORIGIN/../$(notdir $(ENGINE))/lib' \
	    -lllama -lggml -lggml-base -ldl -lm

# --- tests ---------------------------------------------------------------------------------------------------------------------

test_sources = $(sort $(foreach pattern,$(2),$(wildcard $(1)/tests/*_$(pattern).c)))

# $(1): a room. Defines, in this order: units, plain programs, preloaded libraries, fuzzers.
define test_rules
$(1)_units   := $(patsubst %.c,$(B)/%.o,$(call test_sources,$(1),test))
$(1)_unit    := $$(if $$($(1)_units),$(B)/$(1)/tests/unit)
$(1)_plain   := $(patsubst %.c,$(B)/%,$(call test_sources,$(1),stress litmus scenario))
$(1)_preload := $(patsubst %.c,$(B)/%.so,$(call test_sources,$(1),inject))
$(1)_fuzz    := $(patsubst %.c,$(B)/%,$(call test_sources,$(1),fuzz))

$$($(1)_units) $$($(1)_plain:=.o): override CPPFLAGS += -UNDEBUG
$$($(1)_units): override CFLAGS += -O0 # they run for microseconds, but optimizing them took a third of the build

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

# Benches of ways that take turns in one process (testbed/stats/tests/contest.h).
contest := $(B)/testbed/stats/tests/contest.o

# What sharing costs, against other libraries' tables where these are installed (`optional` names their headers).
sharing_bench := $(B)/testbed/strategies/tests/sharing_bench
sharing_bench_own := $(sharing_bench).o $(B)/testbed/strategies/tests/sharing_tables.o $(contest)
$(B)/testbed/strategies/tests/sharing_tables.o: $(B)/optional
$(sharing_bench): $(sharing_bench_own) $(testbed/strategies_all)
	$(call quiet,LD)$(CC) $(LDFLAGS) -o $@ $^ $(testbed/strategies_libs) $(if $(filter ck_%,$(optional)),-lck) \
	    $(if $(filter urcu/%,$(optional)),-lurcu-qsbr -lurcu-cds)

# What copies of paged K and V cost, and the steps that they are part of, also in PyTorch where it is installed.
copies_bench := $(B)/testbed/decode/tests/copies_bench
copies_bench_own := $(copies_bench).o $(B)/testbed/decode/tests/copies_steps.o $(contest)
$(copies_bench): $(copies_bench_own) $(testbed/decode_all)
	$(call quiet,LD)$(CC) $(LDFLAGS) -o $@ $^ $(testbed/decode_libs)

# What batching by adapter is worth, and what int8 to f16 costs.
lora_bench := $(B)/testbed/decode/tests/lora_bench
$(lora_bench): $(lora_bench).o $(contest) $(testbed/decode_all)
	$(call quiet,LD)$(CC) $(LDFLAGS) -o $@ $^ $(testbed/decode_libs)

# What the calls of a pool of blocks and of its owner cost, and as pools grow.
blocks_bench := $(B)/testbed/strategies/tests/blocks_bench
$(blocks_bench): $(blocks_bench).o $(contest) $(testbed/strategies_all)
	$(call quiet,LD)$(CC) $(LDFLAGS) -o $@ $^ $(testbed/strategies_libs)

# What windows cost against copies.
windows_bench := $(B)/testbed/strategies/tests/windows_bench
$(windows_bench): $(windows_bench).o $(contest) $(testbed/strategies_all)
	$(call quiet,LD)$(CC) $(LDFLAGS) -o $@ $^ $(testbed/strategies_libs)

# What the calls of an arena of pages cost.
pages_bench := $(B)/testbed/pool/tests/pages_bench
$(pages_bench): $(pages_bench).o $(contest) $(testbed/pool_all)
	$(call quiet,LD)$(CC) $(LDFLAGS) -o $@ $^ $(testbed/pool_libs)

# What a tier takes, against memcpy and fio (testbed/loops/tests/bench/tier.sh).
tier_bench := $(B)/testbed/loops/tests/tier_bench
$(tier_bench): $(tier_bench).o $(contest) $(testbed/loops_all)
	$(call quiet,LD)$(CC) $(LDFLAGS) -o $@ $^ $(testbed/loops_libs)

# The witness that QEMU loads (testbed/guest/plugin). It needs no QEMU header. v1 is for QEMU 7.2.
plugins := $(addprefix $(B)/testbed/guest/plugin/,accesses.so accesses-v1.so)
$(plugins): testbed/guest/plugin/accesses.c testbed/counters/mark.h testbed/counters/window.h Makefile
	@mkdir -p $(@D)
	$(call quiet,LD)$(CC) $(CPPFLAGS) $(filter-out -fsanitize%,$(CFLAGS)) -fPIC -fvisibility=hidden -shared -o $@ $<
$(B)/testbed/guest/plugin/accesses-v1.so: override CPPFLAGS += -DACCESSES_PLUGIN_VERSION=1
# The one that counts what locus-lap executes, beside which it lies (testbed/guest/counted.sh).
$(B)/locus-counts.so: testbed/guest/plugin/counts.c testbed/counters/mark.h Makefile
	@mkdir -p $(@D)
	$(call quiet,LD)$(CC) $(CPPFLAGS) $(CFLAGS) -fPIC -fvisibility=hidden -shared -o $@ $<

each = $(foreach r,$(ROOMS),$($(r)_$(1)))

# The fuzzed parsers, by file name: libFuzzer is guided by their branches.
fuzzed := $(if $(fuzz),$(shell find $(LAYERS) -name '*_fuzz.c' -o -name cpulist.c -o -name 'trace*.c' -o -name 'postulate*.c' \
    -o -name yaml.c -o -path '*/pool/config.c'))
$(fuzzed:%.c=$(B)/%.o): override CFLAGS += -fsanitize=fuzzer-no-link

# Criterion does not start under ThreadSanitizer (Snaipe/Criterion#274).
unit_programs := $(if $(filter -tsan,$(kind)),,$(call each,unit))

tests: ## the test programs of this variant
preloads := $(if $(SAN),,$(call each,preload) $(plugins))
tests: $(unit_programs) $(call each,plain) $(preloads) $(if $(fuzz),$(call each,fuzz))

# --- targets for people --------------------------------------------------------------------------------------------------------

run: deps ## what this machine is, what a trace wants, and if the machine is fit, times; in build/run (TRACE=file TIMED=yes)
	@$(MAKE) all
	@LOCUS=$(B)/locus TRACE='$(TRACE)' TIMED='$(TIMED)' OUT=build/run sh testbed/run/make_run.sh

check: deps-check ## for every save: one build, its unit tests, layers, tidy (90 s)
	@bash testbed/tests/suite.sh check

test: deps-test ## before a commit: sanitizers, races, faults, fuzzing, the command line, one emulated machine (10 minutes)
	@bash testbed/tests/suite.sh test

test-all: deps-all ## everything: also mutants, every emulated machine, fleets, Slurm, power cuts, browser, arm64 (an hour)
	@bash testbed/tests/suite.sh all

test-fleet: deps-test ## the playbooks on fake hosts on this machine (as root; five minutes)
	@ONLY=ansible/ bash testbed/tests/suite.sh all

test-report: ## the report in a headless browser: figures, console, screenshots (installs chromium)
	@sh .ci/deps.sh report
	@$(MAKE) all $(B)/testbed/judge/tests/record_scenario
	@LOCUS=$(B)/locus bash testbed/tests/browser/report.sh

test-arm64: ## the tests on aarch64, cross-built and emulated (needs gcc-aarch64-linux-gnu; ten minutes)
	@bash testbed/tests/arm64/arm64.sh

logging-effect: all ## does writing the log change what is measured? an equivalence test within 2 %
	@$(MAKE) $(B)/testbed/cli/tests/logging_effect_scenario
	@LOCUS_LAP=$(B)/locus-lap $(B)/testbed/cli/tests/logging_effect_scenario

soak: deps-all ## test-all, with SOAK_SECONDS for each program
	@STRESS_SECONDS=$(SOAK_SECONDS) FUZZ_SECONDS=$(SOAK_SECONDS) LITMUS_RUNS=10000 bash testbed/tests/suite.sh all

bench: all ## nanoseconds for each operation, against malloc
	@$(B)/locus bench

bench-sharing: $(sharing_bench) ## fork, copy-on-write, ids and look-ups, against memcpy and other tables: are the goals met?
	@$(sharing_bench)

bench-copies: $(copies_bench) ## gather, scatter and growth of paged K and V, against memcpy and PyTorch: are the goals met?
	@$(copies_bench)

bench-lora: $(lora_bench) ## LoRA by adapter and one by one, int8 to f16 against memcpy: are the goals met?
	@$(lora_bench)

bench-blocks: $(blocks_bench) ## take, push and drain blocks, one thread; pools of 2^10 to 2^26 blocks: are the goals met?
	@$(blocks_bench)

bench-pages: $(pages_bench) ## allocate, pin, unpin, free and evict pages, against locks and a plain count: are the goals met?
	@$(pages_bench)

bench-windows: $(windows_bench) ## map scattered blocks as one array, and read it, against copies of them
	@$(windows_bench)

bench-tier: $(tier_bench) ## tiers in memory and in a file, against memcpy and fio: are the goals met?
	@BENCH=$(tier_bench) bash testbed/loops/tests/bench/tier.sh

peers: ## fetch newer mallocs to compare with, or build them; in build/peers, not installed (20 MB and more)
	@sh testbed/measure/peers/peers.sh

engine-fetch: ## fetch llama.cpp to measure it; unpacked in build/engine, not installed (47 MB)
	@sh testbed/engine/fetch.sh

engine: deps-engine ## real llama.cpp decodes 64 tokens, as it comes and with a device for each node (two minutes)
	@$(MAKE) engine-fetch
	@$(MAKE) all
	@BUILD=$(B) sh testbed/engine/try.sh

engine-upstream: deps-engine ## llama.cpp's own tests of backends with our devices, built with interface 3 (37 MB; an hour)
	@$(MAKE) engine-fetch
	@$(MAKE) all
	@BUILD=$(B) sh testbed/engine/upstream.sh

wheel: deps-python ## the Python package as one wheel for all versions, in build/wheel; its tools come from PyPI (40 s)
	@sh .ci/wheel.sh

hf: wheel ## the wheel beside PyTorch and transformers, fetched to build/hf (5 GB): are tokens equal to DynamicCache's? (10 minutes)
	@bash placement/python/tests/hf/hf.sh

vllm: wheel ## the wheel beside an unmodified vLLM, fetched to build/vllm (6.3 GB): are tokens equal? (15 minutes)
	@bash placement/python/tests/vllm/vllm.sh

figures: all ## write every figure that has an address into the READMEs, from the sealed logs
	@LOCUS=$(B)/locus perl testbed/report/figures.pl

deps: ## install what the build and `make run` need (Debian, Ubuntu)
	@sh .ci/deps.sh build

deps-engine: ## install what `make engine` also needs: npm
	@sh .ci/deps.sh engine

deps-test: ## install what `make test` also needs
	@sh .ci/deps.sh test

deps-all: ## install what `make test-all` also needs
	@sh .ci/deps.sh all

deps-check: ## install what `make check` also needs
	@sh .ci/deps.sh check

deps-python: ## install what `make wheel` also needs
	@sh .ci/deps.sh python

deps-deb: ## install what `make deb` also needs
	@sh .ci/deps.sh deb

syntax: ## another compiler's warnings, without generating code: make CC=clang syntax
	@$(CC) $(CPPFLAGS) $(CFLAGS) $(dpdk_flags) -fsyntax-only $(patsubst $(B)/%.o,%.c,$(everything)) \
	    $(wildcard testbed/*main.c testbed/*/*_main.c)

libs: # for scripts that call the linker
	@echo '$(testbed_libs)'

native: $(static_lib) $(declarations) # for placement/python: the library, and what links with it
	@printf '%s\n' 'archive: $(static_lib)' 'declarations: $(declarations)' 'libraries: $(placement_libs)'

public: # for scripts: the public headers
	@echo '$(public)'

layers: ## check that no room includes a header of a room that it may not use
	@sh .ci/layers.sh "$(ROOMS)" $(public)

tidy: ## check the sizes of functions and files, line widths, names at the top level
	@sh .ci/tidy.sh $(public)

sources = $(shell find $(LAYERS) -name '*.[ch]')
format: ## clang-format, keeping trailing comments in their columns
	@bash .ci/format.sh $(sources)

format-check: ## show what `make format` would change
	@bash .ci/format.sh --check $(sources)

installed := liblocus $(if $(CHECKED),liblocus-checked)

# $(1): liblocus or liblocus-checked
define install_library
install -m 644 $(B)/$(1).a $(B)/$(1).so.$(VERSION) $(DESTDIR)$(LIBDIR)
ln -sf $(1).so.$(VERSION) $(DESTDIR)$(LIBDIR)/$(1).so.$(SOVERSION)
ln -sf $(1).so.$(SOVERSION) $(DESTDIR)$(LIBDIR)/$(1).so
@printf '%s\n' 'prefix=$(PREFIX)' 'libdir=$(LIBDIR:$(PREFIX)/%=$${prefix}/%)' 'includedir=$${prefix}/include' \
    'declarations=$${prefix}/share/locus/locus-declarations.h' '' \
    'Name: $(1:lib%=%)' \
    'Description: KV-cache blocks that go home to the node that owns them$(if $(findstring checked,$(1)), (aborts at misuse))' \
    'Version: $(VERSION)' 'Requires.private: hwloc' 'Cflags: -I$${includedir}' 'Libs: -L$${libdir} -l$(1:lib%=%)' \
    'Libs.private: $(filter-out -lhwloc,$(placement_libs)) -pthread' >$(DESTDIR)$(LIBDIR)/pkgconfig/$(1:lib%=%).pc

endef

man: $(man) ## the manual pages, in build/gcc/man: man -l build/gcc/man/man7/liblocus.7

install: all man install-share ## PREFIX=/usr/local LIBDIR=PREFIX/lib DESTDIR= CHECKED=1 (liblocus-checked as well)
	install -d $(DESTDIR)$(PREFIX)/include/locus $(DESTDIR)$(LIBDIR)/pkgconfig $(DESTDIR)$(PREFIX)/bin
	install -m 644 $(public) $(DESTDIR)$(PREFIX)/include/locus
	install -m 644 $(declarations) $(DESTDIR)$(share)
	$(foreach library,$(installed),$(call install_library,$(library)))
	$(install_cmake)
	$(if $(program),install $(program) $(DESTDIR)$(PREFIX)/bin)
	$(if $(lap),install -D -t $(DESTDIR)$(libexec) $(lap) $(counts))
	$(if $(plugins_here),$(install_plugins))
	$(install_manual)

# For ggml: not in LIBDIR itself, because nothing is linked with them. The page says how an engine loads them.
plugins_here := $(filter %.so,$(backend))
define install_plugins
install -D -m 644 -t $(DESTDIR)$(LIBDIR)/locus $(plugins_here)
@echo 'llama.cpp loads it with GGML_BACKEND_PATH=$(LIBDIR)/locus/libggml-locus.so: see $(share)/ggml/README.md'
endef

# Where each shell looks for completions, and how it calls them.
manual      := $(PREFIX)/share/man
completions := bash=bash-completion/completions/locus zsh=zsh/site-functions/_locus fish=fish/vendor_completions.d/locus.fish
define install_manual
install -d $(DESTDIR)$(manual)
cp -dR $(B)/man/man[137] $(DESTDIR)$(manual)
$(foreach one,$(completions),if [ -e $(B)/completion/$(firstword $(subst =, ,$(one))) ]; then install -D -m 644 \
    $(B)/completion/$(subst =, $(DESTDIR)$(PREFIX)/share/,$(one)); fi;)
endef

# What CMake finds beside what pkg-config finds.
cmake := $(LIBDIR)/cmake/locus
define install_cmake
install -d $(DESTDIR)$(cmake)
for file in locus-config locus-config-version; do sed -e 's|@VERSION@|$(VERSION)|g; s|@SERIES@|$(SOVERSION)|g' \
    -e 's|@MAJOR@|$(basename $(SOVERSION))|g; s|@LIBRARIES@|$(subst $() $(),;,$(placement_libs:-l%=%) -pthread)|' \
    -e "s|@INCLUDE@|$$(realpath -m --relative-to=$(LIBDIR) $(PREFIX)/include)|" \
    placement/include/$$file.cmake >$(DESTDIR)$(cmake)/$$file.cmake || exit; done
endef

# Files that the program needs (testbed/base/share.h). Users do not call locus-lap, so it is not in bin.
share   := $(PREFIX)/share/locus
libexec := $(PREFIX)/libexec/locus
install-share:
	install -d $(addprefix $(DESTDIR)$(share)/,guest/plugin examples ggml pool postulate workload)
	install -m 644 placement/ggml/README.md placement/ggml/UPSTREAM.md $(DESTDIR)$(share)/ggml
	install -m 644 LICENSE $(DESTDIR)$(share)
	install -m 644 testbed/workload/sample.csv testbed/workload/turns.jsonl $(DESTDIR)$(share)/workload
	install -m 644 testbed/postulate/TEMPLATE.md $(DESTDIR)$(share)/postulate
	install -m 644 testbed/pool/alerts.yml testbed/pool/dashboard.json $(DESTDIR)$(share)/pool
	install -m 644 $(wildcard testbed/guest/*.sh) testbed/guest/README.md $(DESTDIR)$(share)/guest
	install -m 644 $(wildcard testbed/guest/plugin/*) $(DESTDIR)$(share)/guest/plugin
	install -m 644 $(wildcard placement/examples/*.*) $(DESTDIR)$(share)/examples

uninstall: ## remove what install installed, with or without CHECKED=1
	rm -f $(addprefix $(DESTDIR)$(PREFIX)/include/locus/,$(notdir $(public))) $(DESTDIR)$(PREFIX)/bin/locus
	rm -f $(addprefix $(DESTDIR)$(manual)/,man1/locus.1 man1/locus-*.1 man3/locus_*.3 man7/liblocus.7)
	rm -f $(foreach one,$(completions),$(DESTDIR)$(PREFIX)/share/$(lastword $(subst =, ,$(one))))
	rm -f $(foreach name,locus locus-checked,$(DESTDIR)$(LIBDIR)/pkgconfig/$(name).pc $(addprefix \
	    $(DESTDIR)$(LIBDIR)/lib$(name),.a .so .so.$(SOVERSION) .so.$(VERSION)))
	rm -rf $(DESTDIR)$(share) $(DESTDIR)$(libexec) $(DESTDIR)$(LIBDIR)/locus $(DESTDIR)$(cmake)
	-rmdir $(DESTDIR)$(PREFIX)/include/locus 2>/dev/null

deb: deps-deb ## Debian packages of the last commit, in build/deb; also ggml-locus after `make engine-fetch`
	@sh .ci/deb.sh

list: ## print the test programs and scripts, one per line
	@printf '%s\n' $(patsubst $(B)/%,%,$(call each,unit) $(call each,plain) $(call each,preload) $(call each,fuzz)) \
	    $(filter-out %/suite.sh %/item.sh,$(sort $(shell find $(LAYERS) ansible -path '*/tests/*.sh' ! -path '*/tests/*/*')))

clean: ## remove build/
	rm -rf build

help: ## print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

-include $(shell find $(B) -name '*.d' 2>/dev/null)
