// Package golden plays golden scripts: files in testdata in which commands stand above what they
// made a machine do, with prose between, so that a protocol can be read as a story and a change of
// it as a diff.
//
//	# Two nodes join.
//	> start b
//	  1s b: tick
//	      send to a: probe
//	> run 3s
//
// A line that begins with # is prose, one that begins with "> " a command, its words apart by
// spaces. All other lines, blank ones aside, are what the command above them printed, each indented
// by two spaces. [Run] plays the commands of every script anew and fails where the output differs.
// With the flag -update it rewrites the scripts instead: write the commands, run
//
//	go test ./replicator -run TestScripts -update
//
// and read the diff before it is committed, for the flag believes the machine whatever it does.
//
// [Formats] does the same for encodings. A file in testdata for each format level (package ddata/format)
// holds the bytes that builds of that level write and read, and no flag changes a line of it. [Kinds]
// fails for a kind that has none.
//
// What a command means is the caller's: package golden knows neither machines nor time. Output must
// not depend on anything but the commands.
package golden
