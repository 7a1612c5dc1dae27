// Package proptest holds the proofs of the library that are larger than one package: the simulator (proptest/sim), which runs whole
// clusters of the real machines in virtual time from one seed, and the rules of the source tree (proptest/tidy).
package proptest
