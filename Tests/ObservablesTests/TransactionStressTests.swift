// Transactions of many threads at once, beside threads that change the same values in every other way. The
// sum of all accounts never changes, whoever looks at it in a transaction.

import Dispatch
import Foundation
import Synchronization
import Testing

@testable import Observables

@Suite("transactions under load", .timeLimit(.minutes(20)))
struct TransactionStressTests {
    private struct Refused: Error {}

    private static var isLong: Bool { ProcessInfo.processInfo.environment["PLUGBOARD_LONG"] == "1" }

    private let accounts = (0..<4).map { _ in ObservableValue(1_000) }
    private let counter = ObservableValue([0])
    private let wrong = Recorder<Int>()

    @Test("six threads transfer, nest, fail, change in place and look: nothing is lost, half or stuck")
    func load() async {
        let rounds = Self.isLong ? 20_000 : 300
        var bag = DisposeBag()
        let chains = accounts.map { _ in Recorder<Change<Int>>() }
        for (account, chain) in zip(accounts, chains) {
            account.observe { [self] change in
                chain.record(change)
                look()
            }.add(to: &bag)
        }
        let failures = Atomic(0)
        await onRealThreads(6) { [self] thread in
            for round in 0..<rounds {
                let (from, to) = ((thread + round) % 4, (thread + 3 * round + 1) % 4)
                switch (thread + round) % 5 {
                case 0: transfer(from, to)
                case 1: transfer(to, from)
                case 2: if fail(from, to) { failures.add(1, ordering: .relaxed) }
                case 3: counter.value[0] += 1
                default: look()
                }
            }
        }
        bag.dispose()
        look()
        let total = 6 * rounds
        #expect(wrong.all == [])
        #expect(failures.load(ordering: .relaxed) == total / 5)
        // In place, and once in each transfer.
        #expect(counter.value == [total / 5 * 3])
        for (account, chain) in zip(accounts, chains) {
            #expect(chain.all.first?.old == 1_000 && chain.all.last?.new == account.value)
            #expect(chain.all.dropFirst().map(\.old) == chain.all.dropLast().map(\.new))
        }
    }

    /// Takes and gives in two transactions within one.
    private func transfer(_ from: Int, _ to: Int) {
        transaction { values in
            transaction { $0[accounts[from]] -= 1 }
            values[counter][0] += 1
            transaction { $0[accounts[to]] += 1 }
        }
    }

    /// Fails in the middle. Returns whether the error came out.
    private func fail(_ from: Int, _ to: Int) -> Bool {
        do throws(Refused) {
            try transaction { values throws(Refused) in
                values[accounts[from]] -= 500
                if values[accounts[to]] > Int.min { throw Refused() }
            }
            return false
        } catch {
            return true
        }
    }

    private func look() {
        let sum = transaction { values in accounts.reduce(0) { $0 + values[$1] } }
        if sum != 4_000 { wrong.record(sum) }
    }
}

/// Runs the body on threads that exist at the same time, whatever the number of processors.
private func onRealThreads(_ count: Int, _ body: @escaping @Sendable (Int) -> Void) async {
    await withCheckedContinuation { continuation in
        let group = DispatchGroup()
        for number in 0..<count {
            group.enter()
            Thread {
                body(number)
                group.leave()
            }.start()
        }
        group.notify(queue: .global()) { continuation.resume() }
    }
}
