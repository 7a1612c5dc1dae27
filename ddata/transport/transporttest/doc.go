// Package transporttest is the suite that every transport.Transport passes, over TCP and over the
// memory network alike. Run it from a test with a World that says how transports are started.
//
// Each case names one sentence of package transport's guarantees.
package transporttest
