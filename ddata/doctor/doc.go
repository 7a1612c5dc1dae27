// Package doctor says what will go wrong with a configuration, before it does.
//
// # Nouns
//
// A [Finding] names a setting, what will happen because of it, and what to do. [Facts] are what the machine is
// like: whether names resolve, what the certificate says, whether the disk takes files. [Look] finds them, and
// [Check] judges configuration and facts together. Check is a pure function.
//
// A service has a flag for it, because a configuration is code:
//
//	if *examine {
//		facts := doctor.Look(ctx, cfg, doctor.Plan{Nodes: 3, Grace: 40 * time.Second})
//		sound := doctor.Print(os.Stdout, doctor.Check(cfg, facts))
//	}
//
// Package manifests does the same with the manifests of Kubernetes, and package command is the command line
// for both.
//
// # Guarantees
//
// Look changes nothing, except that it makes a file in Config.Dir and removes it, listens on the port for a
// moment, and takes and gives back a lease called doctor. Each of its looks takes some seconds at most. It can be
// used beside a running node that has a Config.Dir; what such a node has taken is no finding then. Without a Dir it
// cannot know the node: a caller that does sets Facts.Port to nil.
//
// # Five broken configurations
//
// They are those of TestFiveBrokenConfigurations, with what Check says of each:
//
//	a cluster of three whose nodes each found one of their own
//	error    Config.BootstrapExpect: 1 founds a cluster alone, and there are to be 3 nodes: each may found one of its own; set it to more than half of the nodes, 2 or more
//
//	a roll-out that kills nodes while they hand over
//	error    Config.LeaveOnSIGTERM: the node may take 1m0s to leave, and is killed after 30s: the others see a crash; raise the grace period (terminationGracePeriodSeconds) above it, or lower it
//
//	a certificate that ends within the week
//	warning  Config.TLS: the certificate ends in 47h0m0s: connections fail from then on; renew it, and see why it was not
//
//	a pair that cannot lose either node
//	warning  Config.Downing: with 2 nodes and keep-majority the crash of one of them stops the other one, too; run 3, or use downing.LeaseMajority with a store of leases outside of the cluster
//
//	a directory that nothing can be written to
//	error    Config.Dir: no file can be made in the directory: permission denied; give the process a directory of its own that it may write to
//
// # Not guaranteed
//
// That nothing is found does not mean that nothing is wrong.
package doctor
