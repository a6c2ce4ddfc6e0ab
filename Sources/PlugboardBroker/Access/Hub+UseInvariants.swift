// What users take up, counted anew from all that there is: what their accounts say must come
// to the same. To go with the hub's other invariants.

extension Hub {
    /// What was found that each user takes up.
    func foundUse(_ living: borrowing Living) -> FoundUse {
        var use = FoundUse()
        guard access.counts else { return use }
        for session in living.sessions { countUse(of: session, &use) }
        for observable in living.observables
        where keyspace[observable].hasValue && !keyspace[observable].isReserved {
            use.add(to: keyspace.account(of: observable)) {
                $0.keys += 1
                $0.kept += keyspace[observable].keptBytes
            }
        }
        return use
    }

    private func countUse(of session: SessionHandle, _ use: inout FoundUse) {
        guard let clearance = sessions[session].clearance else { return }
        let services = sessions[session].duties?.services.count ?? 0
        use.add(to: clearance.account) {
            $0.connections += 1
            $0.owed += clearance.owed
            $0.kept += willBytes(of: session)
            $0.subscriptions += services
        }
        for subscription in sessions[session].subscriptions.list.all {
            let observed = matching[subscription].keys.count + matching[subscription].patterns.count
            let traced = matching[subscription].isTracer ? tracing.patterns(of: subscription).count : 0
            use.add(to: clearance.account) {
                $0.subscriptions += observed + traced
                $0.kept += matching[subscription].filter?.bytes ?? 0
            }
        }
    }
}
