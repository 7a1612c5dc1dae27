// Package nodetest runs nodes as processes of their own for a test, so that it can kill them: the
// test's binary is started again, as one of the programs that its TestMain lists.
//
// A test and a process talk in lines of JSON over the standard input and output of the process.
// Calls of one process run side by side. A process ends with its test, and also when the process of
// the test is killed: its standard input ends then.
package nodetest
