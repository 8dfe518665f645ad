"""The methods and properties of Keras 3.15.1's classes, by category; under a kind's name those that it has beside."""

NAMES = {
    "layer": {
        "": """
            __call__ _assert_input_compatibility _awq_call _build_at_init _build_by_run_for_kwargs
            _build_by_run_for_single_pos_arg _check_load_own_variables _check_quantize_args _check_super_called
            _clear_losses _convert_tracked_collections _flatten_layers _float8_call _get_call_context
            _get_node_attribute_at_index _get_own_losses _get_regularization_losses _get_save_spec _gptq_call
            _initialize_tracker _int4_call _int8_call _lock_state _maybe_build _maybe_reset_call_context
            _not_implemented_error _open_name_scope _post_build _post_track_variable _post_untrack_variable
            _quantization_mode_error _register_call_context_args _resolve_and_populate_arg _set_mask_metadata
            _set_save_spec _setattr_hook _track_variable _trackable_children _untrack_variable add_loss add_metric
            add_variable add_weight build build_from_config call compute_dtype compute_mask compute_output_shape
            compute_output_spec count_params dtype dtype_policy from_config get_build_config get_config
            get_weights input input_dtype input_spec load_own_variables losses metrics metrics_variables
            non_trainable_variables non_trainable_weights output path quantization_mode quantize quantized_build
            quantized_call rematerialized_call save_own_variables set_weights stateless_call supports_masking
            symbolic_call trainable trainable_variables trainable_weights variable_dtype variables weights""",
        "Dense": """
            _awq_build _float8_build _get_kernel_with_merged_lora _gptq_build _int4_build _int8_build enable_lora
            kernel variable_serialization_spec""",
        "UpSampling2D": "_resize_images",
        "UpSampling3D": "_resize_volumes",
        "Rescaling": "_get_seed_generator convert_weight",
        "Dropout": "_validate_noise_shape",
        "SpatialDropout1D SpatialDropout2D SpatialDropout3D": "_get_noise_shape _validate_noise_shape",
        "AlphaDropout": "_get_concrete_noise_shape",
        "BatchNormalization": "_compose_transforms _moments _renorm_correction_and_moments _update_renorm_statistics",
        "GroupNormalization": "_apply_normalization _create_broadcast_shape _reshape_into_groups",
        "Normalization": "_get_seed_generator adapt convert_weight finalize_state",
        "Embedding ReversibleEmbedding": """
            _get_embeddings_with_merged_lora _int4_build _int8_build embeddings enable_lora
            variable_serialization_spec""",
        "EinsumDense": """
            _adjust_scale_for_dequant _adjust_scale_for_quant _awq_build _float8_build _get_kernel_scale_shape
            _get_kernel_with_merged_lora _gptq_build _int4_build _int8_build _set_quantization_info
            _update_kernel_initializer enable_lora kernel variable_serialization_spec""",
        "Conv1D": "_compute_causal_padding convolution_op enable_lora kernel",
        "Conv2D Conv3D": "convolution_op enable_lora kernel",
        "DepthwiseConv1D DepthwiseConv2D": "_get_input_channel",
        "STFTSpectrogram": "_adjust_shapes _apply_conv",
        "MelSpectrogram": """
            _dbscale _get_seed_generator _hertz_to_mel _melscale _spectrogram convert_weight
            linear_to_mel_weight_matrix""",
        "LSTM": """
            _create_state_variables _maybe_config_dropout_masks _maybe_reset_dropout_masks activation
            bias_constraint bias_initializer bias_regularizer dropout get_initial_state inner_loop
            kernel_constraint kernel_initializer kernel_regularizer recurrent_activation recurrent_constraint
            recurrent_dropout recurrent_initializer recurrent_regularizer reset_state reset_states
            unit_forget_bias units use_bias""",
        "GRU": """
            _create_state_variables _maybe_config_dropout_masks _maybe_reset_dropout_masks activation
            bias_constraint bias_initializer bias_regularizer dropout get_initial_state inner_loop
            kernel_constraint kernel_initializer kernel_regularizer recurrent_activation recurrent_constraint
            recurrent_dropout recurrent_initializer recurrent_regularizer reset_after reset_state reset_states
            units use_bias""",
        "SimpleRNN": """
            _create_state_variables _maybe_config_dropout_masks _maybe_reset_dropout_masks activation
            bias_constraint bias_initializer bias_regularizer dropout get_initial_state inner_loop
            kernel_constraint kernel_initializer kernel_regularizer recurrent_constraint recurrent_dropout
            recurrent_initializer recurrent_regularizer reset_state reset_states units use_bias""",
        "RNN": """
            _create_state_variables _maybe_config_dropout_masks _maybe_reset_dropout_masks get_initial_state
            inner_loop reset_state reset_states""",
        "ConvLSTM1D ConvLSTM2D ConvLSTM3D": """
            _create_state_variables _maybe_config_dropout_masks _maybe_reset_dropout_masks activation
            bias_constraint bias_initializer bias_regularizer data_format dilation_rate dropout filters
            get_initial_state inner_loop kernel_constraint kernel_initializer kernel_regularizer kernel_size
            padding recurrent_activation recurrent_constraint recurrent_dropout recurrent_initializer
            recurrent_regularizer reset_state reset_states strides unit_forget_bias use_bias""",
        "LSTMCell": """
            _compute_carry_and_output _compute_carry_and_output_fused _create_dropout_mask get_dropout_mask
            get_initial_state get_recurrent_dropout_mask reset_dropout_mask reset_recurrent_dropout_mask""",
        "GRUCell SimpleRNNCell": """
            _create_dropout_mask get_dropout_mask get_initial_state get_recurrent_dropout_mask reset_dropout_mask
            reset_recurrent_dropout_mask""",
        "StackedRNNCells": "get_initial_state output_size state_size",
        "Bidirectional": """
            _call_fused_gru _call_fused_lstm _can_attempt_fused_gru _can_attempt_fused_lstm _verify_layer_config
            reset_state reset_states states""",
        "TimeDistributed": "_get_child_input_shape",
        "SpectralNormalization": "normalized_weights",
        "Attention AdditiveAttention": "_apply_scores _calculate_score_mask _calculate_scores _validate_inputs",
        "MultiHeadAttention": """
            _build_attention _compute_attention _compute_attention_mask _compute_causal_mask
            _compute_sliding_window_mask _get_common_kwargs_for_sublayer _make_output_dense _masked_softmax
            attention_axes dropout key_dense key_dim num_heads output_dense query_dense use_bias value_dense
            value_dim""",
        "GroupQueryAttention": """
            _compute_attention _compute_attention_mask _compute_causal_mask _compute_sliding_window_mask
            _get_common_kwargs_for_sublayer _masked_softmax""",
        "Add Subtract Multiply Average Maximum Minimum Concatenate Dot": """
            _apply_merge_op_and_or_mask _compute_elemwise_op_output_shape _merge_function""",
    },
    "loss": {
        "": "__call__ call dtype from_config get_config",
    },
    "metric": {
        "": """
            __call__ _check_super_called add_variable add_weight dtype from_config get_config reset_state result
            stateless_reset_state stateless_result stateless_update_state update_state variables""",
        "SensitivityAtSpecificity SpecificityAtSensitivity PrecisionAtRecall RecallAtPrecision": """
            _find_max_under_constraint""",
        "AUC": "_build interpolate_pr_auc thresholds",
        "F1Score FBetaScore R2Score": "_build",
    },
    "optimizer": {
        "": """
            _all_reduce_sum_gradients _apply_weight_decay _backend_apply_gradients
            _backend_increment_gradient_accumulators _backend_reset_gradient_accumulators _backend_update_step
            _check_super_called _check_variables_are_known _clip_by_norm _clip_gradients
            _distributed_tf_update_step _filter_empty_gradients _get_current_learning_rate _get_variable_index
            _overwrite_model_variables_with_average_value _overwrite_variable_with_gradient
            _overwrite_variables_directly_with_gradients _track_variable _untrack_variable
            _update_model_variables_moving_average _use_weight_decay _var_key add_optimizer_variables add_variable
            add_variable_from_reference apply apply_gradients assign assign_add assign_sub build
            exclude_from_weight_decay finalize_variable_values from_config get_config iterations learning_rate
            load_own_variables save_own_variables scale_loss set_weights stateless_apply update_step variables""",
        "Adafactor": "_rms",
        "Muon": """
            _adamw_update_step _muon_update_step _should_use_adamw lr_adjust transpose_last_axis
            zeropower_via_newtonschulz5""",
    },
    "schedule": {
        "": "__call__ from_config get_config",
        "CosineDecay": "_decay_function _warmup_function",
    },
    "initializer": {
        "": "__call__ clone from_config get_config",
    },
    "regularizer": {
        "": "__call__ from_config get_config",
    },
    "constraint": {
        "": "__call__ from_config get_config",
    },
    "callback": {
        "": """
            model on_batch_begin on_batch_end on_epoch_begin on_epoch_end on_predict_batch_begin
            on_predict_batch_end on_predict_begin on_predict_end on_test_batch_begin on_test_batch_end
            on_test_begin on_test_end on_train_batch_begin on_train_batch_end on_train_begin on_train_end
            set_model set_params""",
        "EarlyStopping": "_is_improvement _set_monitor_op get_monitor_value",
        "ReduceLROnPlateau": "_is_improvement _reduce_optimizer_lr _reset _set_monitor_op in_cooldown",
        "ModelCheckpoint": """
            _checkpoint_exists _get_file_path _get_most_recently_modified_file_matching_pattern _is_improvement
            _save_model _set_monitor_op _should_save_model _should_save_on_batch""",
        "BackupAndRestore": "_load_model _save_model _should_save_on_batch",
        "LearningRateScheduler": "_update_optimizer_lr",
        "SwapEMAWeights": """
            _apply_to_ema_optimizers _backend_finalize_ema_values _backend_swap_variables _finalize_ema_values
            _swap_variables _tf_finalize_ema_values _tf_swap_variables""",
    },
    "model": {
        "": """
            __call__ _aggregate_additional_loss _assert_compile_called _assert_input_compatibility
            _assign_variable_values _autoconvert_optionals _awq_call _build_at_init _build_by_run_for_kwargs
            _build_by_run_for_single_pos_arg _check_load_own_variables _check_quantize_args _check_super_called
            _clear_losses _compiled_metrics_update_state _compute_loss _convert_tracked_collections
            _create_nested_dict _flatten_layers _flatten_metrics_in_order _flatten_nested_dict _float8_call
            _get_call_context _get_metrics_result_or_logs _get_node_attribute_at_index _get_own_losses
            _get_own_metrics _get_regularization_losses _get_save_spec _get_variable_map _gptq_call
            _initialize_tracker _int4_call _int8_call _lock_state _make_function _maybe_build
            _maybe_reset_call_context _maybe_symbolic_build _not_implemented_error _open_name_scope _post_build
            _post_quantize _post_track_variable _post_untrack_variable _quantization_mode_error
            _register_call_context_args _resolve_and_populate_arg _resolve_auto_jit_compile _set_mask_metadata
            _set_save_spec _setattr_hook _should_eval _symbolic_build _track_variable _trackable_children
            _untrack_variable _warn_if_trainable_state_changed add_loss add_metric add_variable add_weight build
            build_from_config call compile compile_from_config compiled_loss compiled_metrics compute_dtype
            compute_loss compute_mask compute_metrics compute_output_shape compute_output_spec count_params
            distribute_reduction_method distribute_strategy dtype dtype_policy evaluate export fit from_config
            get_build_config get_compile_config get_config get_layer get_metrics_result
            get_quantization_layer_structure get_state_tree get_weights input input_dtype input_spec jit_compile
            layers load_own_variables load_weights loss losses make_predict_function make_test_function
            make_train_function metrics metrics_names metrics_variables non_trainable_variables
            non_trainable_weights output path predict predict_on_batch predict_step quantization_mode quantize
            quantized_build quantized_call rematerialized_call reset_metrics run_eagerly save save_own_variables
            save_weights set_state_tree set_weights stateless_call stateless_compute_loss summary supports_masking
            symbolic_call test_on_batch test_step to_json train_on_batch train_step trainable trainable_variables
            trainable_weights variable_dtype variables weights""",
        "Sequential": "_is_layer_name_unique _maybe_rebuild add input_shape inputs output_shape outputs pop",
    },
}
