// Package packets says what a simulated world carries from process to process: the message, the entity that
// it is for, and the keys of replicated data that it is about. It serves those that watch a world, and is not
// asked otherwise.
package packets
