// Command commitbench measures event-sourced entities whose events are in PostgreSQL, beside batches of
// inserts by pgx without them, in one run. It starts a server of its own. Package bench/commits says what
// is measured, and go run ./bench persist of the main module runs this program too.
//
//	go run ./commitbench             commits of 1, 64 and 1,000 entities, and the recovery of 100,000
//	go run ./commitbench -d 10s      runs each case longer
//	go run ./commitbench -n 1000     has fewer entities recover
//	go run ./commitbench -reminders 1000000  measures reminders instead, as go run ./bench remind does
//
// On a machine without PostgreSQL it says so, and measures nothing.
package main
