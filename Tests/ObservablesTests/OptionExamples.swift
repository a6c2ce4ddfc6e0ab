// The examples of observers' options, transactions and sequences, compiled. ExamplesTests compares them with
// the documentation, and checks what they print.

import Observables
import Synchronization

enum OptionsExample {
    static func run() {
        let control = ObserverControl()
        let temperature = ObservableValue(20)
        let log = temperature.observe(options: ObserverOptions(control: control)) { change in
            print("log:", change.old ?? 0, "→", change.new)
        }
        let alarm = temperature.observe(options: ObserverOptions(phase: 1), where: { $0 > 100 }) { change in
            print("alarm:", change.new)
        }
        temperature.value = 90  // log: 20 → 90
        control.pause()
        temperature.value = 99
        temperature.value = 120  // alarm: 120
        control.resume()  // log: 90 → 120
        log.dispose()
        alarm.dispose()
    }
}

enum ControlExample {
    static func run() {
        let control = ObserverControl()
        let steps = Notifier<String>()
        let observation = steps.observe(options: ObserverOptions(control: control)) { print($0) }
        control.pause()
        for step in ["one", "two", "three"] { steps.send(step) }
        print(control.owed, "wait")  // 3 wait
        control.step()  // one
        control.resume()  // two, three
        observation.dispose()
    }
}

enum WhereExample {
    static func run() {
        let stock = ObservableValue(3)
        let order = stock.observe(where: { $0 < 2 }) { change in print("order more, there is", change.new) }
        stock.value = 2
        stock.value = 1  // order more, there is 1
        order.dispose()
    }
}

enum TraceExample {
    static func run() {
        let price = ObservableValue(30)
        let tag = price.observe(options: ObserverOptions(name: "tag")) { _ in }
        let bargain = price.observe(options: ObserverOptions(name: "bargain"), where: { $0 < 10 }) { _ in }
        let tracing = price.trace { trace in
            print(trace.event.new, trace.observers.map { "\($0.name) \($0.outcome)" })
        }
        price.value = 25  // 25 ["tag sent", "bargain filtered"]
        tracing.dispose()
        bargain.dispose()
        tag.dispose()
    }
}

nonisolated protocol DoorObserver: Observer, Sendable { func doorMoved(isOpen: Bool) }

enum DoorExample {
    final class Lamp: DoorObserver {
        func doorMoved(isOpen: Bool) { print("lamp", isOpen ? "on" : "off") }
    }
    final class Lock: DoorObserver {
        func doorMoved(isOpen: Bool) { print("lock", isOpen ? "open" : "shut") }
    }

    static func run() {
        let door = ThreadSafeObservable()
        let (lamp, lock, control) = (Lamp(), Lock(), ObserverControl())
        door.add(lamp, options: ObserverOptions(control: control))
        door.add(lock, options: ObserverOptions(phase: 1))
        let tracing = door.trace { trace in
            print(trace.event.role, trace.observers.map { "\($0.name) \($0.outcome)" })
        }
        control.pause()
        door.withObservers { (observer: any DoorObserver) in observer.doorMoved(isOpen: true) }
        // lock open
        // DoorObserver ["Lock sent", "Lamp paused"]
        control.resume()  // lamp on
        tracing.dispose()
    }
}

enum TransactionExample {
    struct Overdrawn: Error {}

    static func run() throws {
        let (savings, wallet) = (ObservableValue(100), ObservableValue(0))
        let observation = wallet.observe { change in print(change.new, "of", change.new + savings.value) }
        try transaction { values throws(Overdrawn) in
            if values[savings] < 40 { throw Overdrawn() }
            values[savings] -= 40
            values[wallet] += 40
        }  // 40 of 100
        observation.dispose()
    }
}

enum SequenceExample {
    static func log(_ price: ObservableValue<Int>) async {
        for await change in price.changes() {
            print(change.old ?? 0, "→", change.new)
        }
    }

    static func count(_ names: ObservableValue<[String]>) async {
        for await change in names.changes(\.count) {
            print(change.new, "names")
        }
    }

    static func total(_ price: ObservableValue<Int>, _ pieces: ObservableValue<Int>) async {
        for await (price, pieces) in combineLatest(price, pieces) {
            print("total:", price * pieces)
        }
    }

    /// Each ends with what it observes.
    static func run() async {
        do {
            let pieces = ObservableValue(2)
            var price: ObservableValue<Int>? = ObservableValue(5)
            let totals = price.map { combineLatest($0, pieces) }
            if let totals {
                for await (one, count) in totals {
                    print("total:", one * count)
                    price = nil
                }
            }
        }
    }
}
