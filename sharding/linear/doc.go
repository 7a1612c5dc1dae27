// Package linear says which chain of a linear hash table an element belongs to (W. Litwin, Linear Hashing: A New Tool
// for File and Table Addressing, VLDB 1980). Such a table grows by one chain at a time: no addition waits for more than
// one chain to be divided. Where the chains are kept, and how their elements are linked, is the caller's.
package linear
