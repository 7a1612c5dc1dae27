// Package storetest is the suite that every implementation of package durable passes: the laws of
// durable.Table and durable.Env, each as a test, and random histories against a model that is a
// map.
//
// An implementation hands [Run] a function that opens an empty store; see [Store] for what else it
// says. What a test can not see from outside, that an acknowledged batch outlives a kill, each
// implementation proves for itself.
package storetest
