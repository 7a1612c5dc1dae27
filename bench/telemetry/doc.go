// Package telemetry measures what traces and metrics cost a message of an entity: told and asked, on one
// node and between two, with a Tracer and a Meter and without.
//
// All cases run in one process, round by round beside each other, so that what else the machine does is in
// all of them alike.
package telemetry
