// Package planted lists the errors that the machines, their drivers and the simulator's world can be
// told to have, to prove that the checkers are awake.
//
// Each has a name, by which an options.Plan asks for it. [In] gives a world its [Defects]. Those of
// the machines are names of package proptest/defect, the others switches of what surrounds them.
// [HuntedIn] says in which worlds a rare one is looked for, and [HuntedFrom] from which seed. A few
// are seen in no world; they stand apart, with the tests that catch them.
package planted
