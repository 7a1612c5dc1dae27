package proptest

import (
	"fmt"
	"testing"
)

// handOffRules are the rules of the hand-off, H1 to H9, each with the care that is taken and the
// tests that fail when it is taken out. Where a defect is named, package proptest/sim or the tests
// plant it; of the others those marked "taken out" were taken out by hand, and the tests failed.
var handOffRules = []rule{
	{"H1", "the route is looked at again under the lane's lock (taken out)", "sharding",
		[]string{"TestRouteIsCheckedUnderTheLanesLock"}},
	{"H1", "so it is for what is passed on", "sharding", []string{"TestRouteOfWhatIsPassedOnIsCheckedToo"}},
	{"H1", "closed mailboxes and sealed shards refuse pushes (taken out)", "sharding",
		[]string{"TestSealedShardRefuses", "TestDeadShardRefuses"}},
	{"H1", "the fast path opens with an empty buffer (taken out)", "sharding",
		[]string{"TestRouteOpensWhenTheBufferIsEmpty", "TestLanesOpenWhenTheBufferIsEmpty",
			"TestOpenBufferTakesNothing", "TestLocalRouteOpensTheLane"}},
	{"H1", "what waits of other nodes is not overtaken when the lane opens, or the shard refuses it (taken out)",
		"sharding",
		[]string{"TestLaneThatOpensBesideAMessage", "TestLanesOfASealedShardStayShut"}},
	{"H2", "an owner waits for the fences of all regions, proxies too (defect NoFence)", "proptest/sim",
		[]string{"TestRareDefectsAreCaughtInTheirScenario"}},
	{"H2", "a fence goes the way of its shard's messages (taken out)", "sharding",
		[]string{"TestFencesGoTheWayOfTheMessages"}},
	{"H2", "fences are sent again after a reconnect", "sharding/protocol", []string{"reconnect.txt"}},
	{"H2", "a connection is drained before its successor is read (taken out)", "ddata/transport",
		[]string{"TestTCP", "TestMemory"}},
	{"H3", "a region refuses commands below its floor (defect NoTokenCheck)", "proptest/sim",
		[]string{"TestRareDefectsAreCaughtInTheirScenario"}},
	{"H3", "an aborted hand-off releases what waits, by a token above its own", "sharding/protocol",
		[]string{"straggler_abort.txt", "TestA3PhasesHaveTimers"}},
	{"H3", "fences and reports count for their own hand-off", "sharding/protocol",
		[]string{"TestA3PhasesHaveTimers", "TestA4OnlyTheOwnerStops"}},
	{"H3", "early fences count for theirs, late ones are not kept (taken out)", "sharding/protocol",
		[]string{"TestEarlyAndLateFences"}},
	{"H4", "a new coordinator resolves the hand-offs that it finds, and raises the floor", "sharding/protocol",
		[]string{"takeover.txt", "takeover_stopped.txt", "TestRestartInTheSameView"}},
	{"H4", "it is told for what others buffer, and releases that (taken out)", "sharding/protocol",
		[]string{"takeover.txt", "TestTakeoverOfABeginThatTheOwnerMissed"}},
	{"H4", "commands below the floor are refused (taken out)", "sharding/protocol", []string{"TestFloorRefuses"}},
	{"H5", "the reader of a lane does not wait for a mailbox (taken out)", "sharding",
		[]string{"TestLaneReaderDoesNotWait"}},
	{"H5", "replies have room of their own", "sharding", []string{"TestRepliesHaveRoomOfTheirOwn"}},
	{"H5", "a fence that finds no room is tried again (taken out)", "sharding",
		[]string{"TestWaitingFencesAreBounded"}},
	{"H5", "Tell in a handler fails at once (taken out)", "sharding",
		[]string{"TestLaneReaderDoesNotWait", "TestBufferBound", "TestFullLane"}},
	{"H5", "a blocked handler leaves its worker to others", "sharding", []string{"TestBlockedHandlersLeaveWorkers"}},
	{"H5", "questions that a draining shard's handlers ask fail (taken out)", "sharding",
		[]string{"TestAskOfMovingShardFails", "TestWaitingQuestionOfAMovingShard"}},
	{"H6", "a handler that does not return aborts the hand-off, with an alarm, and its node has not stopped",
		"sharding",
		[]string{"TestStuckHandlerAbortsTheMove"}},
	{"H6", "a node has not left while a message or a fence that found no room is there (taken out)", "sharding",
		[]string{"TestLeftWhenAllIsOnItsWay"}},
	{"H6", "nor while a region does not know where its shard went (taken out)", "sharding/protocol",
		[]string{"TestLeavesWhenTheNextHomeIsKnown"}},
	{"H6", "the machines agree (taken out)", "sharding/protocol",
		[]string{"stuck.txt", "TestA3PhasesHaveTimers", "TestClosingRegion"}},
	{"H7", "a shard has stopped when its writes are done (defect NoRememberWait)", "sharding/protocol",
		[]string{"TestStoppedWhenWritten"}},
	{"H7", "an id of a living entity that vanishes from its set is added again (taken out)", "sharding/protocol",
		[]string{"TestVanishedIDIsAddedAgain"}},
	{"H8", "every message that ends without being handled has a reason", "sharding",
		[]string{"TestDropsOfTheFlushSayWhy", "TestKilledShardReports", "TestLostWithTheNode", "TestHops"}},
	{"H8",
		"what is dropped in a buffer or with its shard, or is useless, or a reply that no caller gets, is counted, " +
			"each (taken out)", "sharding",
		[]string{
			"TestBufferedIsDroppedWithAReason", "TestKilledShardAnswersStarts", "TestLateReplies",
			"TestUselessMessagesOfOthersAreCounted", "TestWhatCannotBePassedOnIsCounted",
			"TestFullMailboxWhenTheLaneOpens", "TestUnsentRepliesAreCounted",
			"TestUselessPostsAndCarriesAreCounted", "TestRefusedStartsAreAnswered",
		}},
	{"H8", "between processes none is lost without a word", "examples/quickstart",
		[]string{"TestKilledUnderLoad", "TestNumbersWhileShardsMove"}},
	{"H8", "and in every world of the simulator each has one end", "proptest/sim", []string{"TestSeeds"}},
	{"H9", "the table is told by what changed (taken out)", "sharding/protocol", []string{"TestTableWatch"}},
	{"H9", "commands are batched (taken out)", "sharding/protocol",
		[]string{"TestAllocateMany", "gates.txt", "resharded_crash.txt"}},
}

// defects are those of the reference that are not to be copied, by their numbers in its list, with
// what is done instead and the tests that hold us to it.
var defects = []rule{
	{"A1", "shards with remembered ids that are read late get a home", "sharding/protocol",
		[]string{"TestA1RememberedLate"}},
	{"A2", "what is remembered is merged with what is known", "sharding/protocol", []string{"TestA2RememberedKnown"}},
	{"A3", "each phase of a hand-off has its time", "sharding/protocol", []string{"TestA3PhasesHaveTimers"}},
	{"A4", "only the owner ends a hand-off", "sharding/protocol", []string{"TestA4OnlyTheOwnerStops"}},
	{"A5", "what comes for a shard that is handed off waits", "sharding",
		[]string{"TestSealedShardRefuses", "TestPlannedMoveLosesNothing"}},
	{"A6", "a shard that waits for a lease or for ids answers a hand-off", "sharding/protocol",
		[]string{"TestA6HandOffWhileWaiting", "lease_handoff.txt"}},
	{"A7", "buffers may be small", "sharding", []string{"TestSmallestBuffer"}},
	{"A8", "one write of ids at a time, which takes all that has gathered", "sharding/protocol",
		[]string{"TestA8OneWriteAtATime"}},
	{"A9", "ids are durable by their prefix, whichever type comes first", "ddata",
		[]string{"TestDurableKeysAreNamedExactlyOrByPattern"}},
	{"A9", "and a type that cannot have them so does not start", "sharding",
		[]string{"TestRememberingNeedsDurableData"}},
	{"A9",
		"after a restart of all nodes they run again, beside a type that remembers nothing and came first (taken out)",
		"sharding",
		[]string{"TestRestartWithTypesThatRememberAndOneThatDoesNot", "TestFullRestart"}},
	{"A10", "a node that hosts nothing coordinates all the same", "sharding", []string{"TestProxyCoordinates"}},
	{"A11", "writes are bounded in ids", "sharding/protocol", []string{"TestA11WritesCountIDs"}},
	{"A12", "locations are known to a majority when the client returns", "sharding",
		[]string{"TestExternalClient", "TestExternalClientTimeout"}},
	{"A13", "a store that fails is tried again without end", "sharding/protocol",
		[]string{"TestA13StoreThatComesBack"}},
	{"A14", "passivation has a time limit", "sharding", []string{"TestPassivationIsForced"}},
	{"A15", "what a shard held that ends by force is reported", "sharding",
		[]string{"TestKilledShardReports", "TestKillWhileAnEntityIsHeld"}},
	{"A16", "shards that are stopped for good are not allocated again", "sharding/protocol",
		[]string{"stop_shards.txt"}},
	{"A16", "so are those of a daemon that has fewer workers now", "sharding/daemon",
		[]string{"TestProcess", "TestTakeover"}},
	{"A16", "nor what has lost its home while the cluster shuts down", "sharding/protocol",
		[]string{"TestClosingCoordinator"}},
	{"A17", "a daemon's coordinator follows what was written", "sharding/daemon",
		[]string{"TestTakeover", "TestRescale", "TestKeepAliveIsSpaced"}},
	{"A18", "a region that shuts down answers Begin", "sharding/protocol", []string{"TestClosingRegion"}},
	{"A19", "statistics are partial, and name the nodes that failed", "sharding", []string{"TestInspection"}},
	{"A20", "the set of shards with remembered ids shrinks", "sharding/protocol",
		[]string{"TestA20ShardsAreForgotten"}},
	{"A21", "choices under way count", "sharding/protocol", []string{"TestPendingChoicesCount"}},
	{"A22", "ids come from the value itself", "sharding", []string{"TestInlet"}},
}

// TestEveryRuleHasARow: none of the lists has a hole.
func TestEveryRuleHasARow(t *testing.T) {
	for _, list := range []struct {
		letter string
		last   int
		rows   []rule
	}{{"R", 15, rules}, {"H", 9, handOffRules}, {"A", 22, defects}} {
		has := map[string]bool{}
		for _, r := range list.rows {
			has[r.rule] = len(r.tests) > 0
		}
		for i := 1; i <= list.last; i++ {
			if name := fmt.Sprint(list.letter, i); !has[name] {
				t.Errorf("%s has no test", name)
			}
		}
	}
}
