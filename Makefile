# prebreak: circuit breaking for programs you cannot change.
#
#   make demo    install what is missing, build, and show what it is for
#   make test    the whole suite
#   make help    all targets

PREFIX ?= /usr/local
DESTDIR ?=
MULTIARCH := $(shell $(CC) -print-multiarch 2>/dev/null)
LIBDIR ?= $(PREFIX)/lib$(if $(MULTIARCH),/$(MULTIARCH))
BINDIR ?= $(PREFIX)/bin
INCLUDEDIR ?= $(PREFIX)/include
BUILD ?= build

# ---- what Debian must bring, by what needs it -------------------------------------------------------------------------

PACKAGES_all := libcurl4-openssl-dev libssl-dev libgnutls28-dev libjansson-dev
PACKAGES_demo := $(PACKAGES_all) curl
# nghttp2: what its HPACK makes of random headers is what ours has to make of them
PACKAGES_unit := $(PACKAGES_all) check libnghttp2-dev
PACKAGES_test := $(PACKAGES_unit) $(shell sed 's/\#.*//' tests/packages 2>/dev/null)
PACKAGES_bench := $(PACKAGES_all) valgrind
PACKAGES_fuzz := $(PACKAGES_all) clang
PACKAGES_lint := $(PACKAGES_unit) clang clang-tidy cppcheck shellcheck clang-format

# ---- how it is compiled -----------------------------------------------------------------------------------------------

CFLAGS ?= -O2 -g
WARNINGS := -Wall -Wextra -Wshadow -Wmissing-prototypes -Wstrict-prototypes -Wold-style-definition -Wcast-qual \
	-Wpointer-arith -Wwrite-strings -Wvla -Wformat=2 -Wundef -Wimplicit-fallthrough
ifdef SANITIZE
SANFLAGS := -fsanitize=$(SANITIZE) -fno-omit-frame-pointer -fno-sanitize-recover=all
endif
ALL_CFLAGS = -std=c11 -D_GNU_SOURCE -Iinclude -Isrc -fPIC -fvisibility=hidden -ftls-model=initial-exec \
	-fno-semantic-interposition -fstack-protector-strong $(WARNINGS) $(WERROR) $(SANFLAGS) $(CPPFLAGS) $(CFLAGS)
ALL_LDFLAGS = $(SANFLAGS) $(LDFLAGS)
# The library reads libc's headers as they are declared: fortified inlines would replace the very names that it defines.
HOOK_CFLAGS = -U_FORTIFY_SOURCE -Wframe-larger-than=1024

sources = $(wildcard $(addsuffix /*.c,$(addprefix src/,$(1))) $(addsuffix /*/*.c,$(addprefix src/,$(1))))
objects = $(patsubst %.c,$(BUILD)/%.o,$(1))

# A program names what it needs in a comment: "link with: -lcurl".
link_with = $(shell sed -n 's/^.*link with: *\([-a-z0-9 ]*\).*/\1/p' $(1))

CORE := breaker protocol rules real state track
LIB_OBJECTS := $(call objects,$(call sources,$(CORE) hooks))
CORE_OBJECTS := $(call objects,$(call sources,$(CORE)))
REPORT_OBJECTS := $(call objects,$(call sources,report))
CLI_OBJECTS := $(call objects,$(call sources,breaker rules real state report cli) src/track/config.c src/track/config_file.c)

LIB := $(BUILD)/libprebreak.so
CLI := $(BUILD)/prebreak
CORE_ARCHIVE := $(BUILD)/core.a
REPORT_ARCHIVE := $(BUILD)/report.a
UNIT_SOURCES := $(wildcard tests/unit/test_*.c)
UNIT_TESTS := $(patsubst tests/unit/%.c,$(BUILD)/unit/%,$(UNIT_SOURCES))
SUPPORT := $(patsubst tests/support/%/main.c,$(BUILD)/support/%,$(wildcard tests/support/*/main.c))
CLIENTS := $(patsubst tests/e2e/clients/%.c,$(BUILD)/clients/%,$(wildcard tests/e2e/clients/*.c))
BENCH := $(patsubst tests/bench/%.c,$(BUILD)/bench/%,$(wildcard tests/bench/*.c))
EXAMPLES := $(patsubst examples/%.c,$(BUILD)/examples/%,$(wildcard examples/*/*.c))

# One short line a file; V=1 shows the commands.
Q := $(if $(V),,@)
say = $(if $(V),,@printf '  %-5s %s\n' $(1) $(patsubst $(BUILD)/%,%,$@))

.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
.SECONDARY:
.PHONY: all demo test unit e2e harmless bench fuzz asan tsan lint format install uninstall clean help support FORCE

all: $(BUILD)/.packages-all ## build the library and the command
	@$(MAKE) --no-print-directory build
.PHONY: build
build: $(LIB) $(CLI)

# ---- packages: installed when missing, remembered by a stamp ----------------------------------------------------------

$(BUILD)/.packages-%: Makefile $(wildcard tests/packages)
	@mkdir -p $(@D)
	@sh tests/support/packages.sh $(PACKAGES_$*)
	@touch $@

# ---- objects ----------------------------------------------------------------------------------------------------------

$(BUILD)/%.o: %.c $(BUILD)/.flags
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) $(ALL_CFLAGS) $(if $(filter src/cli/% src/report/% tests/%,$<),,$(HOOK_CFLAGS)) -MMD -MP -c -o $@ $<

# Changed flags rebuild everything.
$(BUILD)/.flags: FORCE
	@mkdir -p $(@D)
	@echo '$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS)' | cmp -s - $@ || echo '$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS)' >$@

$(LIB): $(LIB_OBJECTS) src/hooks/exports.map
	@mkdir -p $(@D)
	$(call say,LINK)
	$(Q)$(CC) -shared -o $@ $(LIB_OBJECTS) $(ALL_LDFLAGS) -Wl,--version-script=src/hooks/exports.map \
		-Wl,-z,defs -Wl,-z,now -Wl,-z,relro -Wl,-z,nodelete -Wl,-soname,libprebreak.so -Wl,--as-needed

$(CLI): $(CLI_OBJECTS)
	$(call say,LINK)
	$(Q)$(CC) -o $@ $(CLI_OBJECTS) $(ALL_LDFLAGS) -ljansson -lm

$(CORE_ARCHIVE): $(CORE_OBJECTS)
	@rm -f $@
	$(Q)$(AR) rcs $@ $^

$(REPORT_ARCHIVE): $(REPORT_OBJECTS)
	@rm -f $@
	$(Q)$(AR) rcs $@ $^

# ---- tests ------------------------------------------------------------------------------------------------------------

# The simulator is the command's, but tested from inside.
$(BUILD)/unit/test_simulate: $(call objects,$(wildcard src/cli/simulate_*.c))

$(BUILD)/unit/%: $(BUILD)/tests/unit/%.o $(REPORT_ARCHIVE) $(CORE_ARCHIVE)
	@mkdir -p $(@D)
	$(call say,LINK)
	$(Q)$(CC) -o $@ $(filter %.o,$^) $(REPORT_ARCHIVE) $(CORE_ARCHIVE) $(ALL_LDFLAGS) -ljansson -lcheck -lsubunit -lm -lrt -lpthread \
		$(call link_with,tests/unit/$*.c)

# The scripted provider and the demonstration: one folder, one program, libc alone.
.SECONDEXPANSION:
$(BUILD)/support/%: $$(wildcard tests/support/$$*/*.c tests/support/$$*/*.h) $(BUILD)/.flags
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) $(ALL_CFLAGS) -o $@ $(filter %.c,$^) $(ALL_LDFLAGS)

# Clients that know nothing of prebreak.
$(BUILD)/clients/%: tests/e2e/clients/%.c $(wildcard tests/e2e/clients/*.h) $(BUILD)/.flags
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) -std=c11 -D_GNU_SOURCE $(WARNINGS) $(CFLAGS) -o $@ $< $(call link_with,$<)

$(BUILD)/examples/%: examples/%.c $(BUILD)/.flags
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) -std=c11 -D_GNU_SOURCE $(WARNINGS) $(CFLAGS) -o $@ $< $(call link_with,$<)

# The benchmarks that look inside link the core; the others are programs that know nothing of prebreak.
$(BUILD)/bench/breaker: $(BUILD)/tests/bench/breaker.o $(CORE_ARCHIVE)
	@mkdir -p $(@D)
	$(call say,LINK)
	$(Q)$(CC) -o $@ $^ $(ALL_LDFLAGS) -lpthread

$(BUILD)/bench/%: tests/bench/%.c tests/bench/bench.h $(BUILD)/.flags
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) -std=c11 -D_GNU_SOURCE $(WARNINGS) $(CFLAGS) -o $@ $< $(call link_with,$<)

support: $(SUPPORT) $(CLIENTS) $(EXAMPLES) $(BENCH)

unit: $(BUILD)/.packages-unit $(UNIT_TESTS) ## the unit tests alone
	@tests/run --build $(BUILD) unit

test: $(BUILD)/.packages-test ## the whole suite; ends with "N passed, N failed"
	@$(MAKE) --no-print-directory build $(UNIT_TESTS) support
	@tests/run --build $(BUILD) unit e2e

e2e: $(BUILD)/.packages-test ## the end-to-end tests alone (T='words' picks some, as pytest -k)
	@$(MAKE) --no-print-directory build support
	@tests/run --build $(BUILD) e2e $(if $(T),-k '$(T)')

harmless: $(BUILD)/.packages-test ## CPython's own tests and Tornado's, with prebreak and without: the same, test by test (ten minutes)
	@$(MAKE) --no-print-directory build
	@tests/e2e/harmless --build $(BUILD)

demo: $(BUILD)/.packages-demo ## a stock curl before a provider that goes bad and comes back, with and without prebreak
	@$(MAKE) --no-print-directory build $(SUPPORT)
	@$(BUILD)/support/demo --build $(BUILD)

bench: $(BUILD)/.packages-bench ## ours beside the alternatives, in one run, as ratios
	@$(MAKE) --no-print-directory build $(SUPPORT) $(BENCH)
	@tests/bench/run --build $(BUILD)

fuzz: $(BUILD)/.packages-fuzz ## every parser under libFuzzer, SECONDS each (default 30)
	@tests/fuzz/run --build $(BUILD)/fuzz --seconds $(or $(SECONDS),30)

asan: ## the unit tests under AddressSanitizer and UBSan
	@$(MAKE) --no-print-directory BUILD=build/asan SANITIZE=address,undefined CFLAGS='-O1 -g' unit

tsan: ## the unit tests under ThreadSanitizer
	@$(MAKE) --no-print-directory BUILD=build/tsan SANITIZE=thread CFLAGS='-O1 -g' unit

# ---- quality ----------------------------------------------------------------------------------------------------------

LINT_C := $(wildcard src/*/*.c src/*/*/*.c)
lint: $(BUILD)/.packages-lint ## warnings as errors, clang-tidy, cppcheck, clang-format, shellcheck
	@$(MAKE) --no-print-directory BUILD=build/lint WERROR=-Werror build $(patsubst $(BUILD)/%,build/lint/%,$(UNIT_TESTS))
	@# One file at a time: given several, clang-tidy 14 sees no va_start from the second on.
	printf '%s\n' $(LINT_C) | xargs -I FILE clang-tidy --quiet FILE -- -std=c11 -D_GNU_SOURCE -Iinclude -Isrc
	cppcheck --quiet --std=c11 --enable=warning,performance,portability --inline-suppr --error-exitcode=1 \
		--suppress=missingIncludeSystem -D_GNU_SOURCE -Iinclude -Isrc src
	clang-format --dry-run --Werror $$(git ls-files '*.c' '*.h')
	shellcheck $$(git ls-files | xargs grep -lE '^#!.*\b(sh|bash)$$')

format: ## clang-format over all C
	clang-format -i $$(git ls-files '*.c' '*.h')

# ---- installing -------------------------------------------------------------------------------------------------------

install: all ## PREFIX=/usr/local DESTDIR=
	install -d $(DESTDIR)$(BINDIR) $(DESTDIR)$(LIBDIR) $(DESTDIR)$(INCLUDEDIR)/prebreak
	install -m 755 $(CLI) $(DESTDIR)$(BINDIR)/prebreak
	install -m 644 $(LIB) $(DESTDIR)$(LIBDIR)/libprebreak.so
	install -m 644 include/prebreak/*.h $(DESTDIR)$(INCLUDEDIR)/prebreak

uninstall: ## takes away what install brought
	rm -f $(DESTDIR)$(BINDIR)/prebreak $(DESTDIR)$(LIBDIR)/libprebreak.so
	rm -rf $(DESTDIR)$(INCLUDEDIR)/prebreak

clean: ## removes build/
	rm -rf build

help: ## this list
	@sed -n 's/^\([a-z0-9]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 20

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
