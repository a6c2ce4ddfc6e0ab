// What users take up, counted anew from all that there is: what their accounts say must come
// to the same. To go with the hub's other invariants.

extension Hub {
    /// What was found that each user takes up.
    func foundUse(_ living: borrowing Living) -> FoundUse {
        var use = FoundUse()
        guard access.counts else { return use }
        for session in living.sessions { countUse(of: session, &use) }
        for observable in living.observables
        where observable.pointee.hasValue && !observable.pointee.isReserved {
            use.add(to: observable.pointee.account) {
                $0.keys += 1
                $0.kept += observable.pointee.keptBytes
            }
        }
        return use
    }

    private func countUse(of session: SessionReference, _ use: inout FoundUse) {
        guard let clearance = session.pointee.clearance else { return }
        let services = session.pointee.duties?.pointee.services.count ?? 0
        use.add(to: clearance.account) {
            $0.connections += 1
            $0.owed += clearance.owed
            $0.kept += session.pointee.legacy?.pointee.willBytes ?? 0
            $0.subscriptions += services
        }
        for subscription in session.pointee.subscriptions.list.elements {
            let observed = subscription.pointee.keys.count + subscription.pointee.patterns.count
            let traced = subscription.pointee.isTracer ? tracing.patterns(of: subscription).count : 0
            use.add(to: clearance.account) {
                $0.subscriptions += observed + traced
                $0.kept += subscription.pointee.filter?.bytes ?? 0
            }
        }
    }
}
