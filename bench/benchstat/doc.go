// Package benchstat has the program that compares two results of benches, which is golang.org/x/perf/cmd/benchstat, in
// the version of this module's go.mod. It says of each figure of each case how the medians differ, and whether that
// is more than chance:
//
//	go run ./bench -count 10 -text old.txt tell
//	go run ./bench -count 10 -text new.txt tell
//	make compare OLD=old.txt NEW=new.txt
//
// It is a module of its own, so that what the program needs is in no other one.
package benchstat
