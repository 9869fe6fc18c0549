//go:build !debian

package main

import (
	"runtime/debug"

	"github.com/hashicorp/memberlist"
)

const hasLabels = true

func setLabel(config *memberlist.Config, label string) error {
	config.Label = label
	return nil
}

func memberlistVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, dependency := range info.Deps {
			if dependency.Path == "github.com/hashicorp/memberlist" {
				return dependency.Version
			}
		}
	}
	return "unknown"
}
