// Package read answers reads that ask other replicas: quorum reads and linearizable ones.
//
// [Rounds] are the quorum reads. A round asks enough replicas what counts there. It fetches what is
// missing here, and answers when the own content contains what each of them told. The first
// catching up of a learner is a round, too.
//
// [Linear] has the linearizable reads. A comparison asks a quorum whether it holds the same events
// of some keys, and answers with the state that was pinned when it asked. The comment in linear.go
// argues why that is enough.
//
// [Lookback] has the reads that the acks of an update bring along. The comment in lookback.go says
// what such a read sees.
//
// Answers count in their own epoch only (R15). One question serves all reads that began before it.
package read
