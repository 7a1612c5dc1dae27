package proptest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// rule is one row of a table that says which tests hold us to what. A test that is a script is
// named by its file in testdata.
type rule struct {
	rule, care, dir string
	tests           []string
}

// rules are the rules of the dotted store and the hazards of replicated data, each with the care
// that is taken and the tests that fail when it is taken out. Where a defect is named, the tests
// plant it themselves and see that it shows; for most of the others the care was once taken out by
// hand, and the tests failed.
var rules = []rule{
	{"R1", "apply drops no sibling by itself (defect DropLosingSibling)", "crdt",
		[]string{"TestApplyNeverDropsASiblingByItself"}},
	{"R1", "a put that loses makes no event", "crdt", []string{"TestLosingPutMakesNoEvent", "TestLaws"}},
	{"R2", "events ship with their payload (defect BareFactWithoutRemover)", "crdt",
		[]string{"TestSupersededEventsShipWithTheirPayload"}},
	{"R3", "a failed batch stays the prefix of the next", "replicator",
		[]string{"TestFailedBatchStaysThePrefixOfTheNextCommit"}},
	{"R3", "clock and digest are written with the rows", "durable/rows", []string{"TestWhatWasWrittenIsLoaded"}},
	{"R3", "rows are believed only if they sum to their digest", "crdt", []string{"TestLoadVerifies"}},
	{"R4", "a merge inserts what the clock of the moment lacks", "crdt",
		[]string{"TestMergeUsesTheCurrentClock", "TestLaws"}},
	{"R4", "so does a repair", "replicator", []string{"TestRepairDoesNotBringBackWhatWasRemovedMeanwhile"}},
	{"R4", "a repair comes from one pinned moment of the donor", "replicator",
		[]string{"TestRepairComesFromOnePinnedMoment"}},
	{"R4", "items before clocks (defect ClockBeforeItems)", "crdt", []string{"TestMergeInsertsBeforeItJoinsClocks"}},
	{"R4", "writes beside a merge in steps (defect MergeAlone)", "crdt", []string{"TestMergeInStepsIsOneAtOnce"}},
	{"R4", "a node that has not caught up neither donates nor acks", "replicator",
		[]string{"TestJoinerThatIsNotFinishedNeitherDonatesNorAcks"}},
	{"R5", "a union drops nothing (defect UnionDrops)", "crdt", []string{"TestUnionDropsNothing"}},
	{"R5", "equal clocks with different digests are repaired by union", "replicator",
		[]string{"TestEqualClocksWithDifferentDigestsAreRepairedByUnion"}},
	{"R5", "two items at one dot become one, and are told", "replicator", []string{"TestOneDotStandsForOneItem"}},
	{"R5", "a repair that does not add up is not taken", "replicator",
		[]string{"TestRepairThatDoesNotAddUpIsNotTaken"}},
	{"R6", "only what everybody knows is folded", "crdt",
		[]string{"TestFoldLeavesAloneWhatWouldSaveNothingOrIsNotKnown"}},
	{"R6", "a folded count counts only while its anchor lives", "crdt", []string{"TestDeleteIsNotUndoneByAFold"}},
	{"R6", "no fold changes a sum (defect FoldUnasked)", "replicator",
		[]string{"TestFoldsNeverChangeASum", "TestFoldsWithoutAskingAreNoticed"}},
	{"R6", "folding waits for every member, in the durable space for a retirement", "replicator",
		[]string{"TestFoldingWaitsForEveryMember"}},
	{"R6", "one replica folds what a retirement has closed (defect FoldUnwitnessed)", "replicator",
		[]string{"TestClosedFoldsNeverChangeASum", "TestFoldsByManyAreNoticed"}},
	{"R6", "it has seen the retirement from its beginning, and no member went", "replicator",
		[]string{"TestTheWitnessOfARetirementFolds", "TestWhatNoReplicaHasWitnessedIsNotFolded",
			"TestAMemberThatGoesPutsFoldingOff", "TestAFoldThatComesBackOnACleanDiskIsTheOnlyOne"}},
	{"R6", "it has all that the members told", "replicator", []string{"TestAClosedFoldWaitsForWhatWasTold"}},
	{"R7", "acks speak of what is committed (defect AckBeforeCommit)", "replicator",
		[]string{"TestContentClockIsNoAck"}},
	{"R8", "what is hidden is hidden at once, and no item changes (defect ShowRemoved)", "crdt",
		[]string{"TestElementsVanishWithTheirNode"}},
	{"R8", "only the oldest removes what is hidden", "replicator",
		[]string{"TestElementsOfARemovedMemberVanishAtOnceAndAreSweptByTheOldest"}},
	{"R8", "not before it has the newest view of which it has heard (defect TidyInOldView)", "replicator",
		[]string{"TestWhatIsNotInTheViewYetIsNotSwept"}},
	{"R8", "a key expires by an event, after a majority was asked (defect ExpireUnasked)", "replicator",
		[]string{"TestTheOldestAsksBeforeAKeyExpires", "TestTheOldestWhoIsCutOffLetsNothingExpire"}},
	{"R9", "a group waits for the removals of all its events", "crdt",
		[]string{"TestGroupsAreAllOrNothing", "TestLaws"}},
	{"R9", "a group larger than a frame is cut in transit", "replicator",
		[]string{"TestGroupLargerThanAFrameIsAppliedWhole"}},
	{"R10", "every update of a map's key puts the key anew", "crdt", []string{"TestLaws"}},
	{"R10", "removing a key takes all that is observed below it", "crdt", []string{"TestLaws"}},
	{"R11", "a learner refuses updates (defect JoinWithoutCatchUp)", "replicator",
		[]string{"TestLearnerRefusesUpdatesUntilItHasCaughtUp"}},
	{"R12", "equal clocks are told by a hash, others by the difference", "replicator",
		[]string{"TestReadCarriesAHashAndTheAnswerIsSameOrADifference"}},
	{"R13", "a view whose majority is gone is settled from its survivors, with an alarm", "replicator",
		[]string{"TestMajorityGoneForGoodIsSettledFromTheSurvivorsWithAnAlarm"}},
	{"R14", "a founding without a majority of the disks raises the alarm", "replicator",
		[]string{"TestFoundingWithoutAMajorityOfTheDisksRaisesTheAlarm"}},
	{"R15", "acks and votes count in their own epoch only (defect CountAnyEpoch)", "replicator",
		[]string{"TestOnlyAcksOfTheOperationsEpochCount", "TestLinearizableReadCountsNoVoteOfAnotherView"}},
	{"R16", "origins retire when all have told the same (defect RetireUnasked)", "replicator",
		[]string{"TestRetirementsChangeNothing", "TestRetirementsWithoutAskingAreNoticed"}},
	{"R16", "a retirement ends when all have agreed (defect RetiresUnagreed)", "ddata/membership",
		[]string{"TestRetirementWaitsForAll", "TestUnaskedRetirementIsNoticed"}},
	{"R16", "a founding takes clean disks only (defect FoundsUnclean)", "ddata/membership",
		[]string{"TestFoundingAnewGoesOnWithAges", "TestUncleanFoundersAreNoticed"}},
	{"R16", "a disk that was away is not used", "replicator", []string{"TestOutdatedDisksThatAreUsedAreNoticed"}},

	{"hazard 1", "each space has its own clock", "replicator",
		[]string{"TestComingBackWithDurableRowsDeletesNothingVolatile"}},
	{"hazard 2", "of a group that a merge has covered in part only the rest is logged", "crdt",
		[]string{"TestGroupCoveredInPart"}},
	{"hazard 2", "what a merge brought is in the floor, not in the log", "crdt",
		[]string{"TestGroupCoveredInPart", "TestLaws"}},
	{"hazard 3", "groups, donors and rows with unknown events of the own origin are refused", "crdt",
		[]string{"TestOwnOriginUsedElsewhere", "TestLoadVerifies"}},
	{"hazard 4", "a store failure counts the own replica as failed", "replicator",
		[]string{"TestOwnStoreFailureCountsTheOwnReplicaAsFailed"}},
	{"hazard 4", "no ack before the commit (defect AckBeforeCommit)", "replicator",
		[]string{"TestContentClockIsNoAck"}},
	{"hazard 5", "a joiner is no voter before it has caught up", "replicator",
		[]string{"TestJoinerThatIsNotFinishedNeitherDonatesNorAcks"}},
	{"hazard 5", "quorums of all unsettled views", "replicator",
		[]string{"TestReadOfTheNewMajorityDoesNotMissAWriteOfTheOldOne"}},
	{"hazard 7", "log, window and flight are bounded", "replicator", []string{"TestPartitionGrowsNothingWithoutBound"}},
	{"hazard 7", "the log of a store is bounded", "crdt", []string{"TestLogIsBounded"}},
	{"hazard 11", "a type clash is an error before an update runs", "crdt",
		[]string{"TestTypeClashIsTheCallersError", "TestLaws"}},
	{"hazard 11", "two types at one key stop no machine", "replicator", []string{"TestTypeClashIsAnErrorToTheCaller"}},
	{"hazard 13", "decoders look at what is there before they allocate", "crdt",
		[]string{"TestDecodersDoNotOverAllocate", "TestDecodingIsFrugal"}},
	{"hazard 13", "so do those of messages", "replicator", []string{"TestDecodingIsFrugal"}},
	{"hazard 13", "and those of rows", "durable/rows", []string{"TestDecodingIsFrugal"}},
	{"hazard 8", "an update makes the same bytes each time (type shuffled of this package)", "proptest",
		[]string{"TestEachDefectBreaksItsLaw"}},
}

// TestRulesHaveTheirTests holds the tables to the tree: a test that is renamed or lost is missed
// here.
func TestRulesHaveTheirTests(t *testing.T) {
	sources := map[string]string{}
	for _, r := range slices.Concat(rules, handOffRules, defects) {
		if sources[r.dir] == "" {
			files, err := filepath.Glob(filepath.Join("..", r.dir, "*_test.go"))
			if err != nil {
				t.Fatal(err)
			}
			below, err := filepath.Glob(filepath.Join("..", r.dir, "*", "*_test.go"))
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, below...)
			for _, f := range files {
				b, err := os.ReadFile(f)
				if err != nil {
					t.Fatal(err)
				}
				sources[r.dir] += string(b)
			}
		}
		for _, test := range r.tests {
			if strings.HasSuffix(test, ".txt") {
				if _, err := os.Stat(filepath.Join("..", r.dir, "testdata", test)); err != nil {
					t.Errorf("%s, %s: %v", r.rule, r.care, err)
				}
			} else if !strings.Contains(sources[r.dir], "\nfunc "+test+"(") {
				t.Errorf("%s, %s: package %s has no %s", r.rule, r.care, r.dir, test)
			}
		}
	}
}
