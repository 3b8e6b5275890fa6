# The tests of the agent's core; included from the Makefile, from whose folder the paths are.
CORE := $(addprefix base/,clock descriptors loop pipe-room ring secret) $(addprefix wire/,frame queue resync wire)
INPUT := $(CORE) base/log base/account exec/console exec/exec-plan exec/deadline $(addprefix wire/,dial fragments link session stream stream-table stream-take)
NAMES := $(addprefix net/,name-packet names)
TAR := base/failure $(addprefix image/,fault tar tar-header tar-pax)
ITERATIONS ?= 3000
SEED ?= 1

$(B)/test/core_test: test/core_test.c $(HEADERS) $(CORE:%=$(B)/asan/%.o)
$(B)/fuzz: test/fuzz.c $(HEADERS) $(INPUT:%=$(B)/asan/%.o)
$(B)/fuzz-tar: test/fuzz_tar.c $(HEADERS) $(TAR:%=$(B)/asan/%.o)
$(B)/fuzz-names: test/fuzz_names.c $(HEADERS) $(NAMES:%=$(B)/asan/%.o)
$(B)/test/core_test $(B)/fuzz $(B)/fuzz-tar $(B)/fuzz-names:
	@mkdir -p $(@D)
	$(CC) $(COMMON) $(SANITIZE) -o $@ $(filter test/%.c,$^) $(filter %.o,$^)

.PHONY: test-core test-serve test-sanitized test-released
test-core: $(B)/test/core_test $(B)/fuzz $(B)/fuzz-tar $(B)/fuzz-names
	$(B)/test/core_test
	$(B)/fuzz $(ITERATIONS) $(SEED) 2>/dev/null
	$(B)/fuzz-tar $(ITERATIONS) $(SEED)
	$(B)/fuzz-names $(ITERATIONS) $(SEED)

# As many as make runs at once; tenants are known by their uids, which two builds would share.
test-serve: test-sanitized test-released
test-sanitized: asan
	AGENT=$(B)/svc-agent-asan python3 test/serve_test.py
test-released: asan all
	AGENT=$(B)/svc-agent python3 test/serve_test.py
	AGENT=$(B)/svc-agent-asan python3 test/tenants_test.py
	AGENT=$(B)/svc-agent-asan python3 test/accounts_test.py
	AGENT=$(B)/svc-agent python3 test/tenants_test.py

fuzz: $(B)/fuzz $(B)/fuzz-tar $(B)/fuzz-names
	$(B)/fuzz $(ITERATIONS) $(SEED) 2>/dev/null
	$(B)/fuzz-tar $(ITERATIONS) $(SEED)
	$(B)/fuzz-names $(ITERATIONS) $(SEED)

test: test-core test-files test-serve
