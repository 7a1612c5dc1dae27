// Package command is the command line of the doctor. The binary coterie has it as coterie doctor, by [Prepare];
// [Run] is it as a program of its own.
//
//	coterie doctor -leave 25s -drain 5s -founders 3 manifests/*.yaml
//	coterie doctor -dir /data/node -tls /tls -dns shop-nodes.shop.svc.cluster.local. -service coterie
//
// Files are manifests of Kubernetes, which are judged by package manifests. Flags name parts of the environment
// that are looked at on this machine. Whether a configuration of a program is right, the program says that has
// it: see package doctor.
package command
