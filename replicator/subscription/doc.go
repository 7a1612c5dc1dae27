// Package subscription remembers what is subscribed to, by key or by prefix, and what a step has
// changed of it.
//
// A [Subscriptions] is told of the items that come and go, and of other changes of a key. What came and
// went within the step is no change. At the end of the step it names the subscriptions that have
// something to hear, each once per key, in the order of keys, then of subscriptions.
package subscription
