// Package packets says what a simulated world carries from process to process: the message, the entity that
// it is for, and the keys of replicated data that it is about. That serves those that watch a world, and is not
// asked otherwise. It also says which lane of the network a message takes.
package packets
