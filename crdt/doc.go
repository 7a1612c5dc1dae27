// Package crdt is the dotted item store on which all replicated data of Coterie rests, and the data types that are views of it.
package crdt
