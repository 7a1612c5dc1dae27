// Package upgrade rolls a cluster from one build of this library to the next, and back, under load.
//
// Its test makes two programs: one from the base, a commit that is named in testdata/base, and one from
// the working tree. Each is the binary of this test at that commit, so the base must be one that has this
// package. The second build also rehearses a format level (package ddata/format) that does not exist yet,
// so that there is one to rise to.
//
// # The base
//
// Move the base when a release is made: write the commit of the release into testdata/base, in the commit
// after it. Then the next release is tried against the one that is out there.
package upgrade
