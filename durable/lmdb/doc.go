// Package lmdb keeps the rows of a node in LMDB.
package lmdb
