"""What every floor may use: folders, durations, processes, the network and the background loop."""
