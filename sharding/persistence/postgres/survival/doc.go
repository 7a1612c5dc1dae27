// Package survival has the tests of entities that keep their state in PostgreSQL, whatever is killed
// meanwhile: nodes, which are processes of their own, and the server.
//
// Callers increment counters all the time, some of which are event-sourced, and some keep one value.
// Each increment has a number of its own. A caller that gets no answer repeats it with that number, or
// gives it up. The server itself keeps a log of all that is stored, by triggers of the tests. Package
// proptest/sim/judge then compares that log, what is stored in the end, and what callers were told.
//
// A paused owner has writes on their way to the server, which arrive when its successor has begun. A
// server takes no writes, has no connection left, or has a full disk: callers are told so, and what
// does not need it goes on.
//
// A standby takes over for a server that is killed: a synchronous one has all that was acknowledged. An
// asynchronous one lacks the last commits: entities that know them start again from what is there, and a
// reader passes over nothing that is stored afterwards.
//
// With -short there is one round of kills, which takes about ten seconds; all others take twenty together.
// Without it there are four rounds, with pauses of ten seconds: a minute and a half.
package survival
