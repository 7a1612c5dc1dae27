// Package origins judges what the clocks of replicas keep of incarnations that are over.
package origins
