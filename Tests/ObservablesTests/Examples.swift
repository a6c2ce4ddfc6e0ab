// The examples of the documentation, compiled. Each enum has one of them. ExamplesTests compares the
// paragraphs with the documentation, and checks what they print. The examples of threads and roles are in
// ThreadAndRoleExamples.swift.

import Observables
import Synchronization

/// Lines that the examples printed since they were last taken.
nonisolated private let printed = Mutex<[String]>([])

nonisolated func takePrinted() -> [String] {
    printed.withLock { lines in
        defer { lines = [] }
        return lines
    }
}

/// Replaces the standard library's `print`, so that tests see what was printed.
nonisolated func print(_ items: Any..., separator: String = " ", terminator: String = "\n") {
    let line = items.map { "\($0)" }.joined(separator: separator)
    printed.withLock { $0.append(line) }
}

enum DisposableExample {
    static func run() {
        let profile = ObservableValue("Ada")
        let observation = profile.observe { change in print(change.new) }
        profile.value = "Grace"  // Grace
        observation.dispose()
        profile.value = "Barbara"  // no one is told
    }
}

enum BagExample {
    struct Screen {
        private var bag = DisposeBag()

        mutating func show(_ name: ObservableValue<String>, _ age: ObservableValue<Int>) {
            name.observe { change in print(change.new) }.add(to: &bag)
            age.observe { change in print(change.new) }.add(to: &bag)
        }
    }

    static func run() {
        let name = ObservableValue("Ada")
        let age = ObservableValue(36)
        do {
            var screen = Screen()
            screen.show(name, age)
            name.value = "Grace"
            age.value = 37
        }
        age.value = 38
    }
}

enum VerbsExample {
    static func count(_ visits: some ValueObservable<Int>) -> Disposable {
        let observation = visits.observe { change in print("visit", change.new) }
        visits.update { $0 += 1 }
        return observation
    }

    static func run() {
        let observation = count(ObservableValue(41))  // visit 42
        observation.dispose()
    }
}

enum PartExample {
    static func run() {
        let text = ObservableValue("Ada")
        let length = text.observe(\.count) { change in print("length", change.new) }
        let differing = text.observe(\.self) { change in print("text", change.new) }
        text.value = "Eve"  // text Eve
        text.value = "Grace"  // length 5, text Grace
        text.value = "Grace"  // not a word
        length.dispose()
        differing.dispose()
    }
}

enum ValuesExample {
    static func show(_ price: ObservableValue<Int>) async {
        for await value in price.values {
            print("now", value)
        }
    }

    static func run() async {
        let price = ObservableValue(30)
        let task = Task { await show(price) }
        while price.observerCount == 0 { await Task.yield() }
        price.value = 25
        while !printed.withLock({ $0.contains("now 25") }) { await Task.yield() }
        task.cancel()
        await task.value
    }
}

enum ValueExample {
    nonisolated struct Profile: Sendable {
        var name: String
        var postCount = 0
    }

    static func run() {
        let profile = ObservableValue(Profile(name: "Ada"))
        let observation = profile.observe(initial: true) { change in
            print(change.old?.postCount as Any, "→", change.new.postCount)  // nil → 0
        }
        let counter = profile.observe(\.postCount) { change in
            print("posts:", change.new)
        }
        profile.value.postCount += 1  // a part in place
        profile.update { $0.postCount += 1 }  // in one step, whatever other threads do
        profile.update(Profile(name: "Grace", postCount: 2))  // the whole; not a word about posts
        observation.dispose()
        counter.dispose()
    }
}

enum ContextExample {
    @MainActor final class Label {
        var text = ""
        private var observation: Disposable?

        func show(_ price: ObservableValue<Int>) {
            observation = price.observe(on: .mainActor) { [weak self] change in
                self?.text = "\(change.new) €"
            }
        }
    }
}

enum NotifierExample {
    enum PersonProperty: Sendable { case name, age }

    static func run() {
        let changes = Notifier<PersonProperty>()
        let observation = changes.observe(initial: .name) { property in
            print("show the", property)
        }
        changes.send(.age)
        changes.finish()
        changes.send(.name)  // no one hears of this
        observation.dispose()
    }

    static func react(to changes: Notifier<PersonProperty>) async {
        for await property in changes.events() {
            print("changed:", property)
        }
    }

    static func runEvents() async {
        let changes = Notifier<PersonProperty>()
        let task = Task { await react(to: changes) }
        while changes.observerCount == 0 { await Task.yield() }
        changes.send(.age)
        changes.finish()
        await task.value
    }
}

enum PlainExample {
    nonisolated protocol NameObserver: Observer { func nameChanged(to name: String) }
    nonisolated protocol AgeObserver: Observer { func ageChanged(to age: Int) }

    final class Person: PlainObservable {
        var name = "Ada" {
            didSet { withObservers { (observer: any NameObserver) in observer.nameChanged(to: name) } }
        }
        var age = 36 {
            didSet { withObservers { (observer: any AgeObserver) in observer.ageChanged(to: age) } }
        }
    }

    final class Badge: NameObserver {
        func nameChanged(to name: String) { print("badge:", name) }
    }
    final class Form: NameObserver, AgeObserver {
        func nameChanged(to name: String) { print("form:", name) }
        func ageChanged(to age: Int) { print("form:", age) }
    }

    static func run() {
        let person = Person()
        let badge = Badge()
        let form = Form()
        person.add(badge, form)
        person.name = "Grace"  // badge and form
        person.age = 37  // the form only
    }
}

enum KeyedPlainExample {
    nonisolated protocol CellObserver: Observer {
        func cellChanged(_ change: KeyedChange<String, Int>)
    }

    final class Sheet: KeyedPlainObservable {
        private var cells: [String: Int] = [:]

        func set(_ cell: String, to value: Int) {
            let old = cells.updateValue(value, forKey: cell) ?? 0
            withObservers(key: cell, old: old, new: value) { (observer: any CellObserver, change) in
                observer.cellChanged(change)
            }
        }
    }

    final class Chart: CellObserver {
        func cellChanged(_ change: KeyedChange<String, Int>) {
            print(change.key, change.old, "→", change.new)
        }
    }

    static func run() {
        let sheet = Sheet()
        let chart = Chart()
        sheet.add(chart, keys: ["A1", "A2"])
        sheet.set("A1", to: 5)  // A1 0 → 5
        sheet.set("C3", to: 7)  // nothing: the chart observes other cells
        sheet.remove(chart, key: "A1")
    }
}

enum ThreadSafeExample {
    nonisolated protocol StockObserver: Observer, Sendable { func stockChanged(to pieces: Int) }

    final class Warehouse: ThreadSafeObservable, @unchecked Sendable {
        private let pieces = Mutex(0)

        func deliver(_ count: Int) {
            let now = pieces.withLock { pieces in
                pieces += count
                return pieces
            }
            withObservers { (observer: any StockObserver) in observer.stockChanged(to: now) }
        }
    }

    final class Shelf: StockObserver {
        func stockChanged(to pieces: Int) { print("in stock:", pieces) }
    }

    static func run() {
        let warehouse = Warehouse()
        let shelf = Shelf()
        warehouse.add(shelf)
        warehouse.deliver(12)
    }
}

enum KeyedThreadSafeExample {
    nonisolated protocol PriceObserver: Observer, Sendable {
        func priceChanged(of sku: String, from old: Int, to new: Int)
    }

    final class PriceTag: PriceObserver {
        func priceChanged(of sku: String, from old: Int, to new: Int) {
            print(sku, "costs", new, "instead of", old)
        }
    }

    static func run() {
        let prices = KeyedThreadSafeObservable()
        let tag = PriceTag()
        prices.add(tag, keys: ["B01", "B02"])
        prices.withObservers(key: "B01", old: 30, new: 25) { (observer: any PriceObserver, change) in
            observer.priceChanged(of: change.key, from: change.old, to: change.new)
        }
    }
}
