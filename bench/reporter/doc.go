// Command reporter writes a report of what benches have found: Markdown with a table of each bench, and a plot of each,
// with its cases from top to bottom. It reads what go run ./bench -json has written (package bench/results).
//
//	go run . -in results.json -peers peers.txt -out ../report
//
// A plot shows the first figure of a case that has a baseline, and that of the baseline beside it, whose name is the
// same behind limit_, raw_ or writers_; or else the first figure. Dots are medians; a line goes from the lowest to the
// highest value. The axis is logarithmic, as cases differ by powers of ten.
//
// The rows of make peers (command bench/peers) have a table of their own, with the ratios to each peer and to the raw
// limit.
//
// make report runs the benches of a report for about ten minutes, and this command. It is a module of its own, for
// what it draws with.
package main
