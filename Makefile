# The usual jobs of this repository. `make help` lists them.

GO        ?= go
SEEDS     ?= 2000
MINUTES   ?= 10
FROM      ?=
BASE      ?=
PLAN      ?=
FUZZTIME  ?= 2m
BENCH     ?= all
# Job vet looks at all packages, with more rules than tests would. Without the tables of a debugger, the binaries of
# tests, which are hundreds, are linked in half the time; stacks have all lines. What tests make is small and soon over:
# collecting it less often takes a fifth off what they compute.
TEST       = GOGC=400 $(GO) test -vet=off -ldflags=-w
# lmdb-go compiles its bundled C; this silences the one warning of that code.
export CGO_CFLAGS := -O2 -g -Wno-implicit-fallthrough
# A compiler is over before its garbage is worth collecting: a build from nothing takes a tenth less without.
ifeq ($(findstring toolexec,$(GOFLAGS)),)
export GOFLAGS := $(shell $(GO) env GOFLAGS) '-toolexec=env GOGC=off GOMEMLIMIT=1GiB'
endif

# Packages with goroutines are tested under the race detector, and all others without it. A test runs once: those that
# the detector adds nothing to run without it, and two names of tests do both, because -short shortens them under it.
RACED := ./examples/local ./durable/... ./ddata/discovery/... ./ddata/disk ./ddata/runloop ./ddata/scheduler \
         ./ddata/locks/... ./ddata/shutdown ./ddata/transport/... ./ddata/console/answers ./ddata/console/peers \
         ./ddata/events/recent ./proptest/bubble ./sharding/dataplane/... ./sharding/projection \
         ./sharding/eventsourced ./sharding/durablestate ./sharding/ledger ./sharding/remember/... \
         ./sharding/remind/memory ./sharding/remind/rehash ./sharding/remind/replicated ./sharding/persistence/batch \
         ./sharding/persistence/lmdb ./sharding/persistence/memory ./sharding/persistence/replicated \
         ./sharding/projection/replicated
# Packages whose tests run nodes with short leases in real time are tested apart from those that compute, so that
# nothing takes their processor. They wait most of their time, and run side by side.
LIVE_RACED := ./ddata ./ddata/console ./sharding
LIVE_PLAIN := ./ddata/ddatatest ./sharding/daemon ./sharding/delivery ./sharding/shardingtest
CALM        = $(filter-out $(shell $(GO) list $(RACED) $(LIVE_RACED) $(LIVE_PLAIN) ./proptest/upgrade),\
                $(shell $(GO) list ./...))

# Tests that kill processes, or damage files that one caller opens, show nothing more under the detector, and wait for
# the disk. Tests that count allocations and writes count as many with it, or more, because pools forget. The laws of a
# store on three nodes wait for them, and run the code of those on one. The full restart, slow disks and others wait for
# timers of production most of their time.
PLAIN_CALM := ^TestKill|^TestMemory$$|^TestDamageIsRefused|^TestEveryCutIs|^TestASoundFile|^TestANoteThatIsCut
PLAIN_CALM := $(PLAIN_CALM)|^TestLawsOfThreeNodes$$|^TestMistakes
PLAIN_LIVE := ^TestKill|^TestSlowDiskCosts|^TestAMarkThatHangs|^TestDecodingIsFrugal|^TestIdleEntitiesAreSmall
PLAIN_LIVE := $(PLAIN_LIVE)|^TestStartCostsTheSame|^TestFullRestart$$|^TestRemoteTellAllocates
# Of the random histories of a store -short plays a fifth: what they look for, one caller sees; what the detector looks
# for, every one of them does. The suite of transports is played over TCP and TLS.
BOTH := ^TestFlippedBitsEndNoProcess$$|^TestSuiteOver

# Those of these packages that have tests of such names. To link the tests of the others would take longer than to run
# these.
PLAIN_IN    = $(shell grep -slE '^func ($(subst $$,,$(subst ^,,$(PLAIN_CALM)|$(BOTH))))' \
                $$($(GO) list -f '{{.Dir}}/*_test.go' $(RACED)) | xargs -n1 dirname | sort -u)

# Modules of their own, for what needs large dependencies. A job of all packages visits them too. Those with goroutines
# are tested under the race detector, also what it adds nothing to: to build them twice would take longer.
RACED_MODULES := sharding/persistence/postgres ddata/locks/postgres ddata/locks/etcd ddata/locks/kubernetes \
                 ddata/events/otel examples/kubernetes
PLAIN_MODULES := ddata/console/browser bench/benchstat bench/reporter bench/peers proptest/documents
MODULES       := $(RACED_MODULES) $(PLAIN_MODULES)
in_modules     = @for m in $(1); do echo "$$m: $(2)"; (cd $$m && $(2)) || exit 1; done
# Their tests wait for servers and timers most of their time: those of three modules run side by side.
PLAIN_TESTS   := $(patsubst %,plain/%,$(filter-out proptest/documents,$(PLAIN_MODULES)))
RACED_TESTS   := $(patsubst %,raced/%,$(RACED_MODULES))

.PHONY: help demo test calm calm/plain calm/both calm/raced calm/bench live live/plain live/raced race modules upgrade \
        survival vet lint sim soak simspeed defects fuzz compare report peers bench ci $(PLAIN_TESTS) $(RACED_TESTS)

help: ## list the jobs
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 12

demo: ## three processes, 300 entities: join, kill -9, full restart (about ten seconds)
	$(GO) run ./examples/quickstart

test: ## every test once, with the race detector where there are goroutines
	$(MAKE) vet
	$(MAKE) calm
	$(MAKE) live
	$(MAKE) modules
	$(MAKE) upgrade

# One package more than there are processors: some wait most of their time.
SIDE_BY_SIDE = -p $$(($$(getconf _NPROCESSORS_ONLN) + 1))

# What one of these three waits for leaves its processor to the others.
calm: ## only the tests that need no processor of their own
	$(MAKE) -j 3 calm/plain calm/raced calm/both calm/bench

live: live/plain live/raced ## only the tests of running nodes

race: calm/raced live/raced ## only the tests with the race detector

# The simulator's tests take longer than the default limit if the processors are busy.
calm/plain:
	$(TEST) -timeout 30m $(SIDE_BY_SIDE) $(CALM)

# Of the packages of calm/raced: what the detector adds nothing to, and what runs with it and without it.
calm/both:
	$(TEST) -run '$(PLAIN_CALM)|$(BOTH)' $(PLAIN_IN)

# Each benchmark once, for what it asserts: it would not be noticed for long if one was broken. The largest sizes are
# left out.
BENCHED = $(shell grep -slE '^func Benchmark' $$($(GO) list -f '{{.Dir}}/*_test.go' ./...) | xargs -n1 dirname | sort -u)
calm/bench:
	$(TEST) -short -run '^$$' -bench . -benchtime 1x $(BENCHED)

# Of crdt only snapshots meet other goroutines.
calm/raced:
	$(TEST) -race -run 'WhileTheStoreIsWritten' ./crdt
	$(TEST) -race -short $(SIDE_BY_SIDE) -skip '$(PLAIN_CALM)' $(RACED)

live/plain:
	$(TEST) $(LIVE_PLAIN)
	$(TEST) -run '$(PLAIN_LIVE)' $(LIVE_RACED)

live/raced:
	$(TEST) -race -skip '$(PLAIN_LIVE)' $(LIVE_RACED)

# The first lines say in words what a machine without PostgreSQL, etcd or Chromium does not try. The cache of tests does
# not look at files outside of a module, such as the documents.
modules: ## only the tests of the modules within
	@cd sharding/persistence/postgres && $(GO) test -v -run '^TestFind$$' ./postgrestest | grep 'NOT TRIED' || true
	@cd ddata/locks/etcd && $(GO) test -v -run '^TestFind$$' ./etcdtest | grep 'NOT TRIED' || true
	@cd ddata/console/browser && $(GO) test -v -run '^TestFind$$' . | grep 'NOT TRIED' || true
	@cd bench/peers && $(GO) test -short -v -run '^TestPeerPekko$$' . | grep 'NOT TRIED' || true
	$(MAKE) -j 3 $(RACED_TESTS) $(PLAIN_TESTS)
	$(GO) -C proptest/documents test -count=1 ./...

$(PLAIN_TESTS): plain/%:
	cd $* && $(TEST) -short ./...

$(RACED_TESTS): raced/%:
	cd $* && $(TEST) -race -short ./...

# Where it cannot be tried, as in a shallow clone, it says so in words.
upgrade: ## roll a cluster from the last release's build to this one, and back, under load (about two minutes)
	$(GO) test -count=1 -v -timeout 20m ./proptest/upgrade

# Without -short: more rounds than in modules, and pauses of 10 s.
survival: ## kill nodes and PostgreSQL under load for some minutes; modules has the short form
	cd sharding/persistence/postgres && COTERIE_REQUIRE_POSTGRES=1 $(GO) test -count=1 -v ./survival

# Both look at what compiling the dependencies left; for modules that are tested under the detector alone that is made
# for it.
vet: ## go vet
	$(GO) vet ./...
	$(call in_modules,$(PLAIN_MODULES),$(GO) vet ./...)
	$(call in_modules,$(RACED_MODULES),$(GO) vet -race ./...)

# Collecting its garbage less often takes a third off its time.
lint: export GOGC = 400
lint: ## staticcheck, pinned in go.mod
	$(GO) tool staticcheck ./...
	$(call in_modules,$(PLAIN_MODULES),$$($(GO) -C $(CURDIR) tool -n staticcheck) ./...)
	$(call in_modules,$(RACED_MODULES),GOFLAGS="$$($(GO) env GOFLAGS) -race" \
	  $$($(GO) -C $(CURDIR) tool -n staticcheck) ./...)

sim: ## the simulator: make sim SEEDS=2000, or with PLAN=cluster, persist, remind or deliver
	$(GO) run ./proptest/sim/cmd/sim -plan "$(PLAN)" -seeds $(SEEDS)

soak: ## seeds of all plans on all cores, to the first violation: make soak MINUTES=10, FROM= repeats one
	$(GO) run ./proptest/sim/cmd/soak -minutes $(MINUTES) -from $(or $(FROM),0)

simspeed: ## events per second and core of the simulator, beside the last commit's or BASE's (about two minutes)
	$(GO) run ./proptest/sim/cmd/speed -base "$(BASE)"

defects: ## plant each defect and count the seeds until the simulator catches it
	$(GO) run ./proptest/sim/cmd/sim -defects

# Inputs that reach something new are hardly made smaller: of long ones that would take most of the time.
fuzz: ## every fuzz target in turn: make fuzz FUZZTIME=2m
	@for m in . $(MODULES); do for p in $$($(GO) -C $$m list ./...); do \
	  for f in $$($(GO) -C $$m test -list '^Fuzz' $$p | grep '^Fuzz'); do echo "$$p $$f"; \
	    $(GO) -C $$m test -run '^$$' -fuzz "^$$f$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 10x $$p || exit 1; \
	  done; done; done

compare: ## what differs between two texts of go run ./bench -text: make compare OLD=a.txt NEW=b.txt
	@for f in "$(OLD)" "$(NEW)"; do grep -q '^Benchmark' "$$f" || { \
	  echo "make compare: \"$$f\" is no text of go run ./bench -text: give OLD= and NEW= (-json is for make report)"; \
	  exit 1; }; done
	@$(GO) -C bench/benchstat tool benchstat $(abspath $(OLD)) $(abspath $(NEW))

# Short, small and three times: what takes ten minutes shows how the machine scatters, and what costs what.
REPORT := types get local replicate majority durable frames tell remote failover persist tails
report: ## measure for about ten minutes and write bench/report: tables and plots, with the machine and the commit
	mkdir -p bench/report
	$(GO) run ./bench -count 3 -d 1s -n 1000 -json bench/report/results.json $(REPORT)
	$(GO) -C bench/reporter run . -in ../report/results.json -peers ../report/peers.txt -out ../report

peers: ## measure peers beside Coterie for half an hour, for the next make report; Pekko needs Java 17 and Maven
	mkdir -p bench/report
	$(GO) -C bench/peers run . -out ../report/peers.txt all

bench: ## every figure beside its limit: make bench BENCH="majority get" (go run ./bench lists them)
	$(GO) run ./bench $(BENCH)

ci: ## what CI runs
	.ci/run
