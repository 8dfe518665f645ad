"""Usual pipelines of scikit-learn, written by skl2onnx, with the scores as arrays."""


def files():
    import numpy as np
    from skl2onnx import to_onnx
    from sklearn import (
        cluster, compose, decomposition, ensemble, impute, linear_model, naive_bayes, neighbors, neural_network, pipeline,
        preprocessing, tree,
    )  # fmt: skip

    random = np.random.default_rng(3)
    x = random.standard_normal((120, 5)).astype("float32")
    two, three = (x[:, 0] + x[:, 1] > 0).astype("int64"), np.digitize(x[:, 0] - x[:, 2], [-0.7, 0.7]).astype("int64")
    number = (x @ [1, 2, 0, -1, 0.5] + np.sin(x[:, 1])).astype("float32")
    holes = np.where(random.random(x.shape) < 0.1, np.nan, x).astype("float32")
    whole = random.integers(0, 4, (120, 3)).astype("int64")
    P, S = pipeline.make_pipeline, preprocessing
    columns = compose.ColumnTransformer([("scaled", S.StandardScaler(), [0, 1, 2]), ("bounded", S.MinMaxScaler(), [3, 4])])
    forest = {"n_estimators": 10, "random_state": 0, "max_depth": 5}
    for name, model, data, target in [
        ("LinearRegression", linear_model.LinearRegression(), x, number),
        ("Ridge scaled", P(S.StandardScaler(), linear_model.Ridge()), x, number),
        ("LogisticRegression 2", P(S.StandardScaler(), linear_model.LogisticRegression()), x, two),
        ("LogisticRegression 3", P(S.MinMaxScaler(), linear_model.LogisticRegression()), x, three),
        ("SGDClassifier log", linear_model.SGDClassifier(loss="log_loss", random_state=0), x, three),
        ("DecisionTreeClassifier", tree.DecisionTreeClassifier(random_state=0), x, three),
        ("DecisionTreeRegressor", tree.DecisionTreeRegressor(random_state=0, max_depth=6), x, number),
        ("RandomForestClassifier 2", ensemble.RandomForestClassifier(**forest), x, two),
        ("RandomForestClassifier 3", P(S.StandardScaler(), ensemble.RandomForestClassifier(**forest)), x, three),
        ("RandomForestRegressor", ensemble.RandomForestRegressor(**forest), x, number),
        ("ExtraTreesClassifier", ensemble.ExtraTreesClassifier(**forest), x, three),
        ("GradientBoostingClassifier 2", ensemble.GradientBoostingClassifier(n_estimators=10, random_state=0), x, two),
        ("GradientBoostingClassifier 3", ensemble.GradientBoostingClassifier(n_estimators=10, random_state=0), x, three),
        ("GradientBoostingRegressor", ensemble.GradientBoostingRegressor(n_estimators=10, random_state=0), x, number),
        ("HistGradientBoostingRegressor", ensemble.HistGradientBoostingRegressor(max_iter=10), x, number),
        ("AdaBoostClassifier", ensemble.AdaBoostClassifier(n_estimators=5, random_state=0), x, two),
        ("MLPClassifier 2", P(S.StandardScaler(), neural_network.MLPClassifier(hidden_layer_sizes=(7,), max_iter=20)), x, two),
        ("MLPClassifier 3", P(S.StandardScaler(), neural_network.MLPClassifier(hidden_layer_sizes=(7,), max_iter=20)), x, three),
        ("MLPRegressor", neural_network.MLPRegressor(hidden_layer_sizes=(7, 5), max_iter=20), x, number),
        ("KNeighborsClassifier", neighbors.KNeighborsClassifier(3), x, three),
        ("GaussianNB", naive_bayes.GaussianNB(), x, three),
        ("BernoulliNB", P(S.Binarizer(), naive_bayes.BernoulliNB()), x, two),
        ("KMeans", cluster.KMeans(3, n_init=1, random_state=0), x, None),
        ("PCA then LogisticRegression", P(decomposition.PCA(3), linear_model.LogisticRegression()), x, three),
        ("imputed", P(impute.SimpleImputer(), linear_model.LogisticRegression()), holes, two),
        ("PolynomialFeatures", P(S.PolynomialFeatures(2), linear_model.LinearRegression()), x, number),
        ("Normalizer L1", P(S.Normalizer("l1"), linear_model.Ridge()), x, number),
        ("Normalizer L2", P(S.Normalizer("l2"), linear_model.Ridge()), x, number),
        ("Normalizer max", P(S.Normalizer("max"), linear_model.Ridge()), x, number),
        ("RobustScaler", P(S.RobustScaler(), linear_model.LinearRegression()), x, number),
        ("ColumnTransformer", P(columns, linear_model.LogisticRegression()), x, two),
        ("OneHotEncoder", P(S.OneHotEncoder(handle_unknown="ignore"), linear_model.LogisticRegression()), whole, two),
        ("OrdinalEncoder", P(S.OrdinalEncoder(), tree.DecisionTreeClassifier(random_state=0)), whole, two),
        ("KBinsDiscretizer", P(S.KBinsDiscretizer(4, encode="ordinal"), linear_model.Ridge()), x, number),
        ("VotingClassifier", ensemble.VotingClassifier(
            [("a", linear_model.LogisticRegression()), ("b", tree.DecisionTreeClassifier(max_depth=3, random_state=0))],
            voting="soft"), x, three),
    ]:  # fmt: skip
        model.fit(data, target) if target is not None else model.fit(data)
        classifies = hasattr(model, "predict_proba")

        def exported(model=model, data=data, classifies=classifies):
            options = {id(model): {"zipmap": False}} if classifies else None
            proto = to_onnx(model, data[:1], options=options, target_opset={"": 18, "ai.onnx.ml": 3})
            port = proto.graph.input[0].name
            return proto, [{port: data[:2]}, {port: data[5:35]}]

        yield name, exported
