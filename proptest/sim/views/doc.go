// Package views judges the views that simulated processes install: whether they form one chain in which
// nothing goes back.
//
// A Chain sees each view that a process installs. It knows views only, and not how they were decided.
package views
