// What people write with the two libraries. Two targets compile it: one whose code is on the main actor by
// default, and one without. It has to build without a warning and to do the same in both.

import Observation
import PlugboardClient
import Testing

struct Basket: Codable, Sendable, Equatable {
    var items = 0
    var note = ""
}

nonisolated protocol BasketObserver: Observer {
    func basketChanged(to items: Int)
}

/// A plain class that observes on the thread it lives on.
final class Receipt: BasketObserver {
    var lines: [Int] = []

    func basketChanged(to items: Int) { lines.append(items) }
}

/// One that conforms only on the main actor.
@MainActor final class BasketView: @MainActor BasketObserver {
    var shown: [Int] = []

    @MainActor func basketChanged(to items: Int) { shown.append(items) }
}

final class Shelf: PlainObservable {
    var items = 0 {
        didSet { withObservers { (observer: any BasketObserver) in observer.basketChanged(to: items) } }
    }
}

final class Counting: ObservableThread, @unchecked Sendable {
    override func main() {
        for number in 1...2 where !isStopped {
            withObservers { (observer: any BasketObserver) in observer.basketChanged(to: number) }
        }
    }
}

@MainActor final class BasketModel {
    let basket = ObservableValue(Basket())
    private(set) var texts: [String] = []
    private var bag = DisposeBag()

    func watch() {
        basket.observe(on: .mainActor, initial: true) { [weak self] change in
            self?.texts.append("\(change.new.items)")
        }.add(to: &bag)
        basket.observe(\.note, on: .mainActor) { [weak self] change in
            self?.texts.append(change.new)
        }.add(to: &bag)
    }
}

/// Compiled only, because it needs a broker.
@MainActor func show(_ bus: Bus) async throws -> Disposable {
    let observed = bus.observed("cart", default: 0)
    observed.value += 1
    let remote = bus.observable("cart", default: 0)
    try await remote.ready()
    try await bus.publish("cart", 1)
    for try await update in try await bus.subscribe("cart").updates(as: Int.self) where update.value > 1 {
        break
    }
    return remote.observe(on: .mainActor) { observed.value = $0.new }
}

@MainActor @Suite("with this default isolation", .timeLimit(.minutes(20)))
struct IsolationTests {
    @Test("closures on the main actor hear changes from anywhere")
    func closures() async {
        let model = BasketModel()
        model.watch()
        let basket = model.basket
        await Task.detached { basket.update { $0.items += 1 } }.value
        basket.value.note = "gift"
        while model.texts.count < 4 { await Task.yield() }
        #expect(model.texts == ["0", "1", "1", "gift"])
    }

    @Test("a plain class observes a plain observable")
    func plain() {
        let (shelf, receipt) = (Shelf(), Receipt())
        shelf.add(receipt)
        shelf.items = 1
        #expect(receipt.lines == [1])
    }

    @Test("a thread of one's own tells an observer on the main actor")
    func thread() async throws {
        let (counting, view) = (Counting(), BasketView())
        counting.add(view, on: .mainActor)
        try counting.start()
        while view.shown.count < 2 { await Task.yield() }
        #expect(view.shown == [1, 2])
        counting.join()
    }

    @Test("an observer on the main actor hears a notification from elsewhere")
    func isolatedConformance() async {
        let (observable, view) = (ThreadSafeObservable(), BasketView())
        observable.add(view)
        await Task.detached {
            observable.withObservers { (observer: any BasketObserver) in observer.basketChanged(to: 2) }
        }.value
        while view.shown.isEmpty { await Task.yield() }
        #expect(view.shown == [2])
    }

    @Test("Observation is told, and streams give values")
    func observation() async {
        let number = ObservableValue(0)
        let told = ObservableValue(false)
        withObservationTracking {
            _ = number.value
        } onChange: {
            told.value = true
        }
        number.value = 1
        #expect(told.value)
        for await value in number.values {
            #expect(value == 1)
            break
        }
    }
}
