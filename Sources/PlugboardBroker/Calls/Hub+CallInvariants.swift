// What always holds of calls, of who answers them and of plugins that are started for them.
// To go with the hub's other invariants.

extension Hub {
    /// Looks at all calls and services.
    func checkCalls(_ living: borrowing Living) throws(BrokenInvariant) {
        try calls.checkInvariants(living, deadlines, sessions)
        let always = Invariants(of: "Supervision")
        if let reporter = supervision.reporter {
            try always.hold("who reports is there", living.sessions.contains(reporter))
        }
        for plugin in supervision.onDemand {
            let observers = countObservers(of: plugin)
            let stated = plugin.demand?.observers ?? -1
            try always.agree("demand is the observers that there are", stated, observers, of: plugin.name)
        }
    }
}
