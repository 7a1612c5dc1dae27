// Package customtype is a replicated data type of one's own, and its test. [Votes] counts votes on several
// nodes. [Hasty] is the same type with a mistake, which the laws of package proptest find:
//
//	go test ./examples/customtype
//
// votes_test.go is all that tests the sound type. found_test.go runs the same test on the other type, and
// looks at what it says.
package customtype
