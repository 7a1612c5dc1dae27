// Package bank has accounts as event-sourced entities, and their tests. A client gives each payment a
// number, so that it can ask again when it has heard nothing. A withdrawal is refused if there is too little
// money.
//
//	go test ./examples/bank
//
// account_test.go is all that tests the accounts: one at a time without a cluster, and then on several nodes
// in the simulated cluster, where nodes crash, stand still and lose answers of the journal.
package bank
