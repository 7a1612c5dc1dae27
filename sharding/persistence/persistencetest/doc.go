// Package persistencetest holds an adapter of package persistence to the laws of the port. Adapters
// outside of this repository may run it, too:
//
//	func TestLaws(t *testing.T) {
//		persistencetest.Run(t, func(t testing.TB) *persistencetest.Opened { … })
//	}
//
// An adapter runs the laws of those ports that it implements. It is seen through two doors, as two
// nodes would see it. The laws are random histories against a model, and one test for each sentence
// of the port that histories seldom reach.
//
// # Not tested
//
// What a suite cannot see from outside, each adapter proves for itself: that what was answered nil
// outlives a kill and a cut of power, and what damage of stored data looks like, except to a reader.
package persistencetest
