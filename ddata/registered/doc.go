// Package registered keeps what was registered with something until the registration is cancelled.
//
// A [Set] stands beside the other fields that its owner's lock guards. An owner that walks the set
// under its lock knows that nothing cancelled is called meanwhile, or later.
package registered
