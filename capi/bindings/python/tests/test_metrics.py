"""What metrics have added up, and their functions."""

import unittest

import dl4.keras as keras
import numpy as np

T, P = np.array([[0.0, 1], [1, 1]], "float32"), np.array([[0.2, 0.6], [0.7, 0.3]], "float32")


class Variables(unittest.TestCase):
    def values(self, metric, *batch):
        metric.update_state(*batch)
        return {v.name: np.asarray(v).tolist() for v in metric.variables}

    def test_what_was_added_up(self):
        mean = self.values(keras.metrics.Mean(), [1.0, 3.0], [1.0, 3.0])
        self.assertEqual(mean, {"total": 10.0, "count": 4.0})
        error = self.values(keras.metrics.MeanSquaredError(), T, P)
        self.assertEqual(error["count"], 2.0)
        self.assertAlmostEqual(error["total"], float(((T - P) ** 2).mean(-1).sum()), places=5)
        root = self.values(keras.metrics.RootMeanSquaredError(), T, P)
        self.assertAlmostEqual(root["total"] / root["count"], float(((T - P) ** 2).mean()), places=5)
        counts = self.values(keras.metrics.Precision(), T, P)
        self.assertEqual(counts, {"true_positives": [2.0], "false_positives": [0.0]})
        self.assertEqual(self.values(keras.metrics.FalseNegatives(), T, P), {"accumulator": [1.0]})
        auc = keras.metrics.AUC(num_thresholds=3)
        self.assertEqual(self.values(auc, T, P)["true_positives"], [3.0, 2.0, 0.0])
        auc.reset_state()
        self.assertEqual(np.asarray(auc.true_positives).tolist(), [0.0] * 3)

    def test_what_is_refused(self):
        metric = keras.metrics.Precision(top_k=1)
        self.assertEqual(self.values(metric, T, P)["true_positives"], [2.0])
        with self.assertRaisesRegex(NotImplementedError, "expected no assignment"):
            metric.true_positives.assign(1)

    def test_variables_of_inner_metrics(self):
        class Two(keras.metrics.Metric):
            def __init__(self):
                super().__init__()
                self.own, self.inner = self.add_variable((), "zeros"), keras.metrics.Mean()

        self.assertEqual(len(Two().variables), 3)

    def test_variables_in_lists_and_dicts(self):
        class Several(keras.metrics.Metric):
            def __init__(self, **kwargs):
                super().__init__(**kwargs)
                self.own = self.add_variable(())
                self.more = {"a": [keras.Variable(1.0)], "b": keras.metrics.Sum()}

        metric = Several(dtype=keras.dtype_policies.DTypePolicy("mixed_float16"))
        self.assertEqual((len(metric.variables), metric.dtype, metric.own.dtype), (3, "float16", "float16"))
        metric.more["b"].update_state([2.0])
        metric.reset_state()
        self.assertEqual([float(v.numpy()) for v in metric.variables], [0.0] * 3)

    def test_a_sample_alone_and_weights_of_other_ranks(self):
        """As Keras 3.15 counts them: the best of one axis are those of one sample."""
        metric = keras.metrics.Precision(top_k=3)
        metric([[0, 1, 1, 0, 1]], [[0.2, 0.1, 0.4, 0, 0.2]], sample_weight=np.array([[1, 4, 2, 3, 5]]))
        got = metric(np.array([1, 0, 1, 1, 1]), np.array([0.2, 0.6, 0.4, 0.2, 0.2]), sample_weight=np.array(3))
        self.assertAlmostEqual(float(got), (7 + 6) / (8 + 9), places=5)
        with self.assertRaisesRegex(ValueError, "R2Score expects 2D inputs with shape"):
            keras.metrics.R2Score().update_state([0.0, 1.0], [0.0, 1.0])

    def test_a_mean_of_a_function(self):
        metric = keras.metrics.MeanMetricWrapper(distance, name="error", power=2)
        metric.update_state(T, P)
        self.assertAlmostEqual(float(metric.result()), float(((T - P) ** 2).mean()), places=5)
        self.assertEqual([v.name for v in metric.variables], ["total", "count"])
        again = keras.metrics.MeanMetricWrapper.from_config(metric.get_config())
        self.assertEqual(float(again(T, P)), float(metric.result()))

    def test_thresholds_of_its_own(self):
        self.assertEqual(keras.metrics.AUC(num_thresholds=None, thresholds=[0.3, 0.5]).num_thresholds, 4)


@keras.saving.register_keras_serializable("test_metrics")
def distance(y, p, power):
    return abs(y - p) ** power


class Functions(unittest.TestCase):
    def test_correlations_along_an_axis(self):
        t, p = np.array([[0, 1, 0.5], [1, 1, 0.2]], "float32"), np.array([[0.1, 0.9, 0.5], [1, 0.9, 0.2]], "float32")
        for axis in (0, 1):
            pairs = zip(t, p) if axis else zip(t.T, p.T)
            expected = [np.corrcoef(a, b)[0, 1] for a, b in pairs]
            got = keras.metrics.pearson_correlation(t, p, axis=axis)
            np.testing.assert_allclose(
                np.asarray(got)[np.isfinite(expected)], np.array(expected)[np.isfinite(expected)], 1e-4
            )
        expected = [
            2 * np.cov(a, b, ddof=0)[0, 1] / (a.var() + b.var() + (a.mean() - b.mean()) ** 2) for a, b in zip(t, p)
        ]
        np.testing.assert_allclose(keras.metrics.concordance_correlation(t, p), expected, 1e-4)


class Doubled(keras.metrics.Mean):
    def update_state(self, values, sample_weight=None):
        return super().update_state(values * 2, sample_weight=sample_weight)


class Shifted(keras.metrics.MeanSquaredError):
    def update_state(self, y_true, y_pred, sample_weight=None):
        return super().update_state(y_true, y_pred + 1, sample_weight=sample_weight)


class Steps(keras.Model):
    def train_step(self, data):
        x, y = data
        p = self(x, training=True)
        doubled.update_state(keras.ops.mean(p - y))
        shifted.update_state(y, p)
        return {"doubled": doubled.result(), "shifted": shifted.result()}

    @property
    def metrics(self):
        return [doubled, shifted]


doubled, shifted = Doubled(), Shifted()


class Overridden(unittest.TestCase):
    def test_an_update_is_called_once_in_a_traced_step(self):
        inputs = keras.Input((2,))
        model = Steps(inputs, keras.layers.Dense(1, kernel_initializer="ones")(inputs))
        y = np.array([[1.0], [1.0]], "float32")
        over = P.sum(1) - y[:, 0]
        wanted = {"doubled": 2 * np.mean(over), "shifted": np.mean((over + 1) ** 2)}
        for eagerly in (True, False):
            model.compile("sgd", run_eagerly=eagerly)
            history = model.fit(P, y, batch_size=1, verbose=0).history
            for name, value in wanted.items():
                self.assertAlmostEqual(history[name][0], float(value), places=5, msg=(name, eagerly))


if __name__ == "__main__":
    unittest.main()
