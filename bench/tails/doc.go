// Package tails measures how long the slowest questions and writes of a cluster take that is under 70 % of
// the load that it can bear: while nothing else happens, and while everything does that moves data.
//
// Operations are begun by the clock, not when the one before has ended, and their time counts from when they
// were due. So what waits behind a pause is seen to wait.
package tails
