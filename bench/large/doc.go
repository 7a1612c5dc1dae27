// Package large measures nodes that hold much: one that starts on a directory of millions of rows and is then
// read and written while its memory is looked through for garbage; one that gives all it has to an empty node;
// and one that was away while a thousand things changed. Each node has a process of its own.
//
// A node holds all its data in memory. Without room for what is asked for, a bench takes as many items as there
// is room for, and says how many.
package large
